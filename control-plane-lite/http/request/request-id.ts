/** Request ID, used in logs, audit events and the `Audit-Id` header. */
import { randomUUID } from 'node:crypto';

/** IDs that a client may choose: visible characters, short enough for every log line. */
const SOUND = /^[\u0021-\u007e]{1,128}$/;

/** Returns the client's own ID if it is valid, otherwise a new one. */
export function auditId(header: string | readonly string[] | undefined): string {
  return typeof header === 'string' && SOUND.test(header) ? header : randomUUID();
}
