/** An error and what caused it, for people: each thing is said once. Many errors end with the words of their cause. */

const LONGEST_CHAIN = 5;

/** The error and its causes, outermost first, without those whose message stands in an earlier one. */
export function errorChain(error: Error): readonly Error[] {
  const chain: Error[] = [];
  let at: unknown = error;
  for (let depth = 0; at instanceof Error && depth <= LONGEST_CHAIN; depth += 1) {
    const { message, cause }: Error = at;
    if (!chain.some((earlier) => earlier.message.includes(message))) chain.push(at);
    at = cause;
  }
  return chain.length === 0 ? [error] : chain;
}

/** All messages of the chain in one line. */
export const describeError = (error: Error): string =>
  errorChain(error)
    .map(({ message }) => message)
    .filter((message) => message !== '')
    .join(': ');
