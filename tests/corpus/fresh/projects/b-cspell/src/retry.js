// exponental backoff
export function retryDelay(attempt) {
  const maxDelayMillisecnds = 3000;
  return Math.min(2 ** attempt, maxDelayMillisecnds);
}
