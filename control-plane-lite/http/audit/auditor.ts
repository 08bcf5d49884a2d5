/** What the pipeline tells of each request, for the audit log. */
import type { BytesResponse } from '../contract.ts';
import type { RequestState } from '../request-state.ts';

export interface Auditor {
  /** Once it is known whose request it is, or that it is nobody's. `undefined`: nothing is to be recorded. */
  begin(state: RequestState): AuditRecord | undefined;
}

export interface AuditRecord {
  /** The answer has begun and has no end of its own. */
  started(): void;
  /** The answer is out; without one where the client left before or the answer was a stream. */
  complete(response: BytesResponse | undefined): void;
}
