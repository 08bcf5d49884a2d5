/** Contract of flow control: API priority and fairness. A FlowSchema assigns a request to a priority level; a
 *  priority level has seats, and queues for requests that arrive while its seats are occupied. */
import type { UserInfo } from '../resources/contract.ts';

export type RequestKind = 'readOnly' | 'mutating';

/** The members of a request's path and method that FlowSchemas match. */
export interface FlowTarget {
  readonly verb: string;
  readonly isResource: boolean;
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  readonly subresource: string;
  /** Empty: cluster scope, or all namespaces. */
  readonly namespace: string;
  readonly name: string;
  readonly path: string;
}

export interface FlowRequest {
  readonly user: UserInfo;
  readonly info: FlowTarget;
  /** False: `query` is empty, and need not be created. */
  readonly hasQuery: boolean;
  readonly query: URLSearchParams;
}

/** Calls the listener once when the request is aborted; immediately if it already was. */
export type OnAbort = (listener: (error: Error) => void) => void;
