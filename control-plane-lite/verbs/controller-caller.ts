/** Caller identity of controllers, which act on behalf of the server itself. */
import { serverUser } from '../authn/users.ts';
import type { Caller } from './contract.ts';

export const controllerCaller = (name: string, signal: AbortSignal): Caller => ({
  user: serverUser(name),
  signal,
  warn: () => undefined,
  annotate: () => undefined,
});
