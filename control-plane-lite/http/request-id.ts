/** The name of a request in logs, audit events and the `Audit-Id` header. */
import { randomUUID } from 'node:crypto';

/** What a client may choose: visible characters, few enough for every log line. */
const SOUND = /^[\u0021-\u007e]{1,128}$/;

/** The client's own, if it gives a sound one. */
export function auditId(header: string | readonly string[] | undefined): string {
  return typeof header === 'string' && SOUND.test(header) ? header : randomUUID();
}
