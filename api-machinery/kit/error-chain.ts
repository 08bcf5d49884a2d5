/** An error and what caused it, for people: each thing is said once. Many errors end with the words of their cause. */

import { asError } from './clock.ts';

const LONGEST_CHAIN = 5;
/** What Node appends to the message of a certificate that it does not trust: advice on how to start Node, which is of no
 *  use to users of a program, and least of all to clients of a server. */
const RUNTIME_ADVICE = '; if the root CA is installed locally, try running Node.js with ';

/** The message of what was thrown, without advice of the runtime's. */
export function messageOf(thrown: unknown): string {
  const { message } = asError(thrown);
  const advice = message.indexOf(RUNTIME_ADVICE);
  return advice < 0 ? message : message.slice(0, advice);
}

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
    .map(messageOf)
    .filter((message) => message !== '')
    .join(': ');
