/** Audit recorder: records requests as the audit policy demands. A request waits for its first event only if the mode of a
 *  backend demands it. Lost events are counted. */
import { parseJsonText } from '#api/codec/json-text.ts';
import type { Clock } from '#api/kit/clock.ts';
import { StatusError } from '#api/meta/status-error.ts';
import type { AuditRecord, BytesResponse } from '../contract.ts';
import type { Auditor, ServerRequest } from '../request/server-request.ts';
import type { AuditBackend, AuditEvent } from './backend.ts';
import { auditBody, type BodyResult } from './bodies.ts';
import { type EventInput, formatEvent, formatLegacy } from './event.ts';
import type { AuditMetrics } from './metrics.ts';
import { type AuditPolicy, type AuditScope, type AuditStage, scopeFor } from './policy.ts';

export interface AuditDeps {
  readonly clock: Clock;
  readonly metrics: AuditMetrics;
  readonly backends: readonly AuditBackend[];
}

export interface AuditOptions {
  readonly policy: AuditPolicy;
  /** Domain of the API groups. */
  readonly domain: string;
  /** Larger bodies are omitted. Default 1 MiB. */
  readonly maxBodyBytes?: number;
}

type Bodies = Pick<EventInput, 'requestObject' | 'responseObject' | 'annotations'>;

/** Audited bodies within the size limit; for the others, the reason why they are omitted. */
function bodiesFound(
  results: Readonly<Record<'requestObject' | 'responseObject', BodyResult>>,
  domain: string,
): Bodies {
  const { requestObject: request, responseObject: response } = results;
  const are = (kind: BodyResult['kind']): readonly string[] =>
    Object.entries(results).flatMap(([name, result]) => (result.kind === kind ? [name] : []));
  const unreadable = are('unreadable');
  return {
    ...(request.kind === 'object' ? { requestObject: request.object } : {}),
    ...(response.kind === 'object' ? { responseObject: response.object } : {}),
    annotations: {
      ...(are('tooLarge').length === 0 ? {} : { [`audit.${domain}/truncated`]: 'true' }),
      ...(unreadable.length === 0 ? {} : { [`audit.${domain}/unreadable`]: unreadable.join(',') }),
    },
  };
}

/** The part of a response that the event records: a Status whole, of an object only the code. */
function responseStatusOf(request: ServerRequest, response: BytesResponse | undefined): object {
  const plain = { metadata: {}, code: request.status };
  if (response === undefined || request.status < 400 || !Buffer.isBuffer(response.body)) return plain;
  const result = auditBody({
    body: response.body,
    contentType: response.contentType,
    maxBytes: 64 * 1024,
    omitManagedFields: false,
    json: response.json,
  });
  if (result.kind !== 'object') return plain;
  const value: unknown = parseJsonText(result.object.text);
  if (typeof value !== 'object' || value === null || !('kind' in value) || value.kind !== 'Status')
    return plain;
  const { kind: _kind, apiVersion: _apiVersion, ...status } = { apiVersion: '', ...value };
  return { ...status, metadata: {}, code: request.status };
}

function bodiesOf(
  { domain, maxBodyBytes = 1024 * 1024 }: AuditOptions,
  request: ServerRequest,
  scope: AuditScope,
  response: BytesResponse | undefined,
): Bodies {
  const { omitManagedFields } = scope;
  const terms = { maxBytes: maxBodyBytes, omitManagedFields };
  const type = request.headers['content-type'] ?? '';
  const { bodyJson } = request;
  const requestObject = auditBody({
    ...terms,
    body: (request.wantsBody ? request.bodyBytes : undefined) ?? [],
    contentType: type.trim() === '' ? 'application/json' : type,
    json: bodyJson === undefined ? undefined : Buffer.from(bodyJson),
  });
  const readable = request.wantsJson ? response : undefined;
  const responseObject = auditBody({
    ...terms,
    body: readable?.body ?? [],
    contentType: readable?.contentType ?? '',
    json: readable?.json,
  });
  const found = bodiesFound({ requestObject, responseObject }, domain);
  // Upstream omits the bodies of proxied requests, too, without an annotation.
  if (!request.passedOn || !request.wantsBody) return found;
  return { ...found, annotations: { ...found.annotations, [`audit.${domain}/passed-on`]: 'true' } };
}

/** A class, because each event has several forms, of which most are never needed. */
class RecordedEvent implements AuditEvent {
  readonly line: string;
  readonly #input: EventInput;

  constructor(input: EventInput) {
    this.line = formatEvent(input);
    this.#input = input;
  }

  truncated(): string {
    const { requestObject: _request, responseObject: _response, ...input } = this.#input;
    const annotations = { ...input.annotations, [`audit.${input.domain}/truncated`]: 'true' };
    return formatEvent({ ...input, annotations });
  }

  legacy(): string {
    return formatLegacy(this.#input);
  }
}

/** Rejects if a strict backend lost the event. */
function processEvent({ backends, metrics }: AuditDeps, event: AuditEvent): Promise<void> | undefined {
  const waits: Promise<void>[] = [];
  for (const backend of backends) {
    const result = backend.process(event);
    if (result instanceof Promise) waits.push(result.then((accepted) => settle(metrics, backend, accepted)));
    else if (backend.isStrict) waits.push(Promise.resolve().then(() => settle(metrics, backend, result)));
    else settle(metrics, backend, result);
  }
  return waits.length === 0 ? undefined : Promise.all(waits).then(() => undefined);
}

/** @throws StatusError InternalError */
function settle(metrics: AuditMetrics, { name, isStrict }: AuditBackend, accepted: boolean): void {
  if (accepted) {
    metrics.recorded();
    return;
  }
  metrics.lost(name, 1);
  if (isStrict)
    throw new StatusError('InternalError', 'Internal error occurred: failed to store audit event');
}

export function createAuditor(deps: AuditDeps, options: AuditOptions): Auditor {
  const { clock, metrics } = deps;
  const { policy, domain } = options;

  function record(
    request: ServerRequest,
    scope: AuditScope,
    stage: AuditStage,
    more: Partial<EventInput>,
  ): Promise<void> | undefined {
    if (scope.omitStages.has(stage)) return undefined;
    const base = { request, domain, level: scope.level, stage, nowMs: clock.now(), annotations: {} };
    return processEvent(deps, new RecordedEvent({ ...base, ...more }));
  }

  /** Only the first event of a request can reject it. */
  function recordLate(...args: Parameters<typeof record>): void {
    record(...args)?.catch(() => undefined);
  }

  function recordOf(
    request: ServerRequest,
    scope: AuditScope,
    admitted: Promise<void> | undefined,
  ): AuditRecord {
    return {
      admitted,
      panicked(error) {
        const message = `APIServer panicked: ${error.message}`;
        recordLate(request, scope, 'Panic', {
          responseStatus: { metadata: {}, status: 'Failure', message, reason: 'InternalError', code: 500 },
        });
      },
      started() {
        recordLate(request, scope, 'ResponseStarted', {
          responseStatus: { metadata: {}, code: request.status || 200 },
        });
      },
      complete(response) {
        if (scope.omitStages.has('ResponseComplete')) return;
        recordLate(request, scope, 'ResponseComplete', {
          responseStatus: responseStatusOf(request, response),
          ...bodiesOf(options, request, scope, response),
        });
      },
    };
  }

  return {
    begin(request) {
      const scope = scopeFor(policy, request.info, request.originalUser);
      if (scope.level === 'None') return undefined;
      request.wantsBody = request.info.isResource && scope.level !== 'Metadata';
      request.wantsJson = request.info.isResource && scope.level === 'RequestResponse';
      const admitted = record(request, scope, 'RequestReceived', {});
      admitted?.catch(() => metrics.rejected());
      return recordOf(request, scope, admitted);
    },
  };
}
