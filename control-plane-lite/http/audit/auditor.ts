/** Audit interface of the request pipeline. */
import type { AuditRecord } from '../contract.ts';
import type { ServerRequest } from '../request/server-request.ts';

export interface Auditor {
  /** Called once the request is authenticated or authentication has failed. `undefined`: nothing is recorded. */
  begin(request: ServerRequest): AuditRecord | undefined;
}
