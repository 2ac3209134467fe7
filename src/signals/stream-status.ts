export const streamStatuses = ['enabled', 'paused', 'disabled'] as const;
export type StreamStatus = (typeof streamStatuses)[number];
