/** Audit step: opens the audit record of a request. */
import type { Auditor } from '../audit/auditor.ts';
import type { BytesResponse } from '../contract.ts';
import type { ServerRequest } from '../request/server-request.ts';

export interface AuditDeps {
  readonly audit?: Auditor;
}

/** Opens the record, once: also for a request that ends before it is authenticated. */
export function audit(deps: AuditDeps, request: ServerRequest): Promise<void> | undefined {
  if (request.isRecorded) return undefined;
  request.isRecorded = true;
  request.record = deps.audit?.begin(request);
  return request.record?.admitted;
}

/** Closes the record, once: with the response, or without one if it was not completed. */
export function closeRecord(request: ServerRequest, response: BytesResponse | undefined): void {
  const { record } = request;
  request.record = undefined;
  record?.complete(response);
}
