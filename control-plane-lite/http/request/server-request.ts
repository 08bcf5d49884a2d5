/** A request on its way through the pipeline, from the first byte to the end of the response: the view of it that
 *  handlers get, and the resources that it holds. Parts that few requests need (the parsed query, the abort
 *  signal) are created on first use. */
import { randomUUID } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { callListener } from '#api/kit/listeners.ts';
import type { FlowAdmission } from '../../flow-control/flow-control.ts';
import type { UserInfo } from '../../resources/contract.ts';
import { readBody } from '../connection/body.ts';
import { ClientGoneError, type Exchange } from '../connection/exchange.ts';
import type { ApiRequest, AuditRecord, BytesResponse, RequestInfo, RequestKind } from '../contract.ts';

export interface Auditor {
  /** Called once the request is authenticated or authentication has failed. `undefined`: nothing is recorded. */
  begin(request: ServerRequest): AuditRecord | undefined;
}

/** IDs that a client may choose: visible characters, short enough for every log line. */
const SOUND = /^[\u0021-\u007e]{1,128}$/;

/** Returns the ID of logs, audit events and the `Audit-Id` header: the client's own ID if it is valid, otherwise a new one. */
function auditId(header: string | readonly string[] | undefined): string {
  return typeof header === 'string' && SOUND.test(header) ? header : randomUUID();
}

export interface ServerRequestOptions {
  readonly exchange: Exchange;
  readonly receivedMs: number;
  readonly startedMs: number;
  readonly bodyLimitBytes: number;
}

const NOBODY: UserInfo = { name: '', groups: [], extra: {} };
const NOWHERE: RequestInfo = {
  path: '',
  isResource: false,
  verb: '',
  group: '',
  version: '',
  namespace: '',
  resource: '',
  subresource: '',
  name: '',
  rest: '',
};

export class ServerRequest implements ApiRequest {
  readonly id: string;
  readonly exchange: Exchange;
  readonly receivedMs: number;
  /** Monotonic. */
  readonly startedMs: number;
  info: RequestInfo = NOWHERE;
  user: UserInfo = NOBODY;
  /** The authenticated user, before impersonation. */
  originalUser: UserInfo = NOBODY;
  /** Status code of the response; 0 before. */
  status = 0;
  /** The bytes of the body once it was read. */
  bodyBytes: Buffer | undefined;
  /** Data for the audit record of the request. */
  wantsBody = false;
  wantsJson = false;
  /** The value of a body that is not JSON, as JSON. */
  passedOn = false;
  /** Of a body that was no JSON, its value as JSON. */
  bodyJson: string | undefined;
  warnings: string[] | undefined;
  annotations: Record<string, string> | undefined;
  /** Headers of every response, as a flat list (`pipeline/browser.ts`). */
  extraHeaders: readonly string[] | undefined;
  /** Why the request was aborted. */
  abortReason: Error | undefined;
  /** The response does not end by itself. */
  isLong = false;
  /** Uncounts a request that does not end by itself. */
  endLong: (() => void) | undefined;
  /** The concurrency slot that it holds (`limits/in-flight.ts`). */
  slot: RequestKind | undefined;
  /** Its passage through flow control, which holds its seats (`limits/in-flight.ts`). */
  admission: FlowAdmission | undefined;
  /** Present while the audit record is open. */
  record: AuditRecord | undefined;
  /** Whether the audit log has seen the request, even if the policy records nothing of it. */
  isRecorded = false;
  /** A step or the handler is running; it may outlast the response. */
  isWorking = false;
  /** The response is complete, or never will be. */
  isFinished = false;
  readonly #bodyLimitBytes: number;
  #body: Promise<Buffer> | undefined;
  #query: URLSearchParams | undefined;
  #controller: AbortController | undefined;
  #onAbort: ((error: Error) => void)[] | undefined;

  constructor(options: ServerRequestOptions) {
    this.id = auditId(options.exchange.headers['audit-id']);
    this.exchange = options.exchange;
    this.receivedMs = options.receivedMs;
    this.startedMs = options.startedMs;
    this.#bodyLimitBytes = options.bodyLimitBytes;
  }

  get method(): string {
    return this.exchange.method;
  }

  get headers(): IncomingHttpHeaders {
    return this.exchange.headers;
  }

  get query(): URLSearchParams {
    this.#query ??= new URLSearchParams();
    return this.#query;
  }

  get hasQuery(): boolean {
    return this.#query !== undefined;
  }

  setQuery(query: URLSearchParams | undefined): void {
    this.#query = query;
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.abortReason !== undefined) this.#controller.abort(this.abortReason);
    }
    return this.#controller.signal;
  }

  /** Calls when the request is aborted; immediately if it already was. */
  readonly onAbort = (listener: (error: Error) => void): void => {
    if (this.abortReason !== undefined) return listener(this.abortReason);
    this.#onAbort ??= [];
    this.#onAbort.push(listener);
  };

  abort(reason: Error): void {
    if (this.abortReason !== undefined) return;
    this.abortReason = reason;
    this.#controller?.abort(reason);
    for (const listener of this.#onAbort ?? []) callListener('request abort', listener, reason);
  }

  /** Ends work on an aborted request. Must be called after every await.
   *  @throws the reason of the abort */
  throwIfAborted(): void {
    if (this.abortReason !== undefined) throw this.abortReason;
  }

  readBody(): Promise<Buffer> {
    this.#body ??= this.#readBody();
    return this.#body;
  }

  async #readBody(): Promise<Buffer> {
    const { exchange } = this;
    if (exchange.body === undefined) return Buffer.alloc(0);
    if (exchange.closed) throw new ClientGoneError();
    exchange.requestBody();
    this.bodyBytes = await readBody(exchange.body, {
      limitBytes: this.#bodyLimitBytes,
      contentLength: exchange.headers['content-length'],
      contentEncoding: exchange.headers['content-encoding'],
      onAbort: this.onAbort,
    });
    return this.bodyBytes;
  }

  initialized(): void {
    if (this.isLong) this.admission?.release();
  }

  /** Opens the audit record, once: also for a request that ends before it is authenticated. Returns a promise if the
   *  request has to wait for its first event. */
  openRecord(auditor: Auditor | undefined): Promise<void> | undefined {
    if (this.isRecorded) return undefined;
    this.isRecorded = true;
    this.record = auditor?.begin(this);
    return this.record?.admitted;
  }

  /** Closes the audit record, once: with the response, or without one if it was not completed. */
  closeRecord(response: BytesResponse | undefined): void {
    const { record } = this;
    this.record = undefined;
    record?.complete(response);
  }

  noteBody(value: unknown): void {
    // Serialized immediately: the handler may change the value.
    if (this.wantsBody) this.bodyJson = JSON.stringify(value);
  }

  warn(text: string): void {
    this.warnings ??= [];
    this.warnings.push(text);
  }

  annotate(key: string, value: string): void {
    this.annotations ??= {};
    this.annotations[key] = value;
  }
}
