/** Audit recorder: records requests as the audit policy demands. Never delays a request; lines for which the
 *  buffer has no room are dropped and counted. */
import { parseJsonText } from '#api/codec/json-text.ts';
import type { Clock } from '#api/kit/clock.ts';
import type { MetricsRegistry } from '#api/kit/metrics.ts';
import type { AuditRecord, BytesResponse } from '../contract.ts';
import type { Auditor, ServerRequest } from '../request/server-request.ts';
import { auditBody, type BodyResult } from './bodies.ts';
import { type EventInput, formatEvent } from './event.ts';
import type { LineWriter } from './log-file.ts';
import { type AuditPolicy, type AuditScope, type AuditStage, scopeFor } from './policy.ts';

export interface AuditDeps {
  readonly clock: Clock;
  readonly registry: MetricsRegistry;
  readonly writer: LineWriter;
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

export function createAuditor(deps: AuditDeps, options: AuditOptions): Auditor {
  const { clock, registry, writer } = deps;
  const { policy, domain, maxBodyBytes = 1024 * 1024 } = options;
  const events = registry.counter({
    name: 'apiserver_audit_event_total',
    help: 'Audit events written.',
  });
  const failures = registry.counter({
    name: 'apiserver_audit_error_total',
    help: 'Audit events lost.',
    labels: ['plugin'],
  });

  function bodiesOf(request: ServerRequest, scope: AuditScope, response: BytesResponse | undefined): Bodies {
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

  function record(
    request: ServerRequest,
    scope: AuditScope,
    stage: AuditStage,
    more: Partial<EventInput>,
  ): void {
    if (scope.omitStages.has(stage)) return;
    const base = { request, domain, level: scope.level, stage, nowMs: clock.now(), annotations: {} };
    if (writer.write(formatEvent({ ...base, ...more }))) events.with().inc();
    else failures.with('log').inc();
  }

  function recordOf(request: ServerRequest, scope: AuditScope): AuditRecord {
    return {
      started() {
        record(request, scope, 'ResponseStarted', {
          responseStatus: { metadata: {}, code: request.status || 200 },
        });
      },
      complete(response) {
        if (scope.omitStages.has('ResponseComplete')) return;
        record(request, scope, 'ResponseComplete', {
          responseStatus: responseStatusOf(request, response),
          ...bodiesOf(request, scope, response),
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
      record(request, scope, 'RequestReceived', {});
      return recordOf(request, scope);
    },
  };
}
