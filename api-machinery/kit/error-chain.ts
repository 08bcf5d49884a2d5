/** Chains of an error and its causes as a message without repetitions. Many errors end with the message of
 *  their cause. */

import { asError } from './errno.ts';

const MAX_CHAIN_LENGTH = 5;
/** Node appends this advice to messages about untrusted certificates. It is useless to users of a program,
 *  and even more so to clients of a server. */
const RUNTIME_ADVICE = '; if the root CA is installed locally, try running Node.js with ';

/** Returns the message of a thrown value, without advice of the runtime. */
export function messageOf(thrown: unknown): string {
  const { message } = asError(thrown);
  const advice = message.indexOf(RUNTIME_ADVICE);
  return advice < 0 ? message : message.slice(0, advice);
}

/** Returns the error and its causes, outermost first, without those whose message is part of an earlier
 *  one. */
export function errorChain(error: Error): readonly Error[] {
  const chain: Error[] = [];
  let at: unknown = error;
  for (let depth = 0; at instanceof Error && depth <= MAX_CHAIN_LENGTH; depth += 1) {
    const { message, cause }: Error = at;
    if (!chain.some((earlier) => earlier.message.includes(message))) chain.push(at);
    at = cause;
  }
  return chain.length === 0 ? [error] : chain;
}

/** Returns all messages of the chain in one line. */
export const describeError = (error: Error): string =>
  errorChain(error)
    .map(messageOf)
    .filter((message) => message !== '')
    .join(': ');
