export const streamStatuses = ['enabled', 'paused', 'disabled'] as const;
export type StreamStatus = (typeof streamStatuses)[number];

/** Why the system has paused a stream, for its receiver and for operators. */
export const pauseReasons = {
  failing: 'No token has been accepted for days.',
  full: 'The queue is full: tokens that were not taken are kept, and further events are lost until it is enabled.',
} as const;
