/** Seconds until the next attempt, by attempts made: three days in all, then the delivery is dead until it is replayed. */
export const retryAfterSeconds = [5, 30, 120, 600, 3600, 10_800, 21_600, 43_200, 86_400, 86_400];

export const longestPause = Math.max(...retryAfterSeconds);
