/** Audit interface of the request pipeline. */
import type { BytesResponse } from '../contract.ts';
import type { RequestState } from '../request/request-state.ts';

export interface Auditor {
  /** Called once the request is authenticated or authentication has failed. `undefined`: nothing is recorded. */
  begin(state: RequestState): AuditRecord | undefined;
}

export interface AuditRecord {
  /** The response has started and does not end by itself. */
  started(): void;
  /** The response is complete; `undefined` if the client left before or the response was a stream. */
  complete(response: BytesResponse | undefined): void;
}
