/** Records requests as a policy says. Never delays a request: lines that find no room are counted and lost. */
import { parseJsonText } from '#api/codec/json-text.ts';
import type { Clock } from '#api/kit/clock.ts';
import type { MetricsRegistry } from '#api/kit/metrics.ts';
import type { BytesResponse } from '../contract.ts';
import type { RequestState } from '../request-state.ts';
import type { Auditor, AuditRecord } from './auditor.ts';
import { auditBody, type BodyToJson } from './bodies.ts';
import { type EventInput, formatEvent } from './event.ts';
import type { LineWriter } from './log-file.ts';
import { type AuditPolicy, type AuditScope, type AuditStage, scopeFor } from './policy.ts';

export interface AuditDeps {
  readonly clock: Clock;
  readonly registry: MetricsRegistry;
  readonly writer: LineWriter;
  /** For bodies that are no JSON. Default: they are left out. */
  readonly bodyToJson?: BodyToJson;
}

export interface AuditOptions {
  readonly policy: AuditPolicy;
  /** Domain of the API groups. */
  readonly domain: string;
  /** Larger bodies are left out. Default 1 MiB. */
  readonly maxBodyBytes?: number;
}

type Bodies = Pick<EventInput, 'requestObject' | 'responseObject' | 'annotations'>;

/** What an answer says of itself: of a Status everything, of an object only the code. */
function responseStatusOf(state: RequestState, response: BytesResponse | undefined): object {
  const plain = { metadata: {}, code: state.status };
  if (response === undefined || state.status < 400 || !Buffer.isBuffer(response.body)) return plain;
  if (!response.contentType.startsWith('application/json')) return plain;
  const result = auditBody({
    body: response.body,
    contentType: response.contentType,
    maxBytes: 64 * 1024,
    omitManagedFields: false,
    toJson: () => undefined,
  });
  if (result.kind !== 'object') return plain;
  const value: unknown = parseJsonText(result.object.text);
  if (typeof value !== 'object' || value === null || !('kind' in value) || value.kind !== 'Status')
    return plain;
  const { kind: _kind, apiVersion: _apiVersion, ...status } = { apiVersion: '', ...value };
  return { ...status, metadata: {}, code: state.status };
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

  function bodiesOf(state: RequestState, scope: AuditScope, response: BytesResponse | undefined): Bodies {
    const read = (body: Buffer | readonly Buffer[] | undefined, contentType: string) =>
      auditBody({
        body: body ?? [],
        contentType,
        maxBytes: maxBodyBytes,
        omitManagedFields: scope.omitManagedFields,
        toJson: deps.bodyToJson ?? (() => undefined),
      });
    const wantsRequest = scope.level === 'Request' || scope.level === 'RequestResponse';
    const type = state.headers['content-type'] ?? 'application/json';
    const request = read(wantsRequest && state.info.isResource ? state.bodyBytes : undefined, type);
    const answer = scope.level === 'RequestResponse' && state.info.isResource ? response : undefined;
    const responded = read(answer?.body, answer?.contentType ?? '');
    const cut = request.kind === 'tooLarge' || responded.kind === 'tooLarge';
    return {
      ...(request.kind === 'object' ? { requestObject: request.object } : {}),
      ...(responded.kind === 'object' ? { responseObject: responded.object } : {}),
      annotations: cut ? { [`audit.${domain}/truncated`]: 'true' } : {},
    };
  }

  function record(
    state: RequestState,
    scope: AuditScope,
    stage: AuditStage,
    more: Partial<EventInput>,
  ): void {
    if (scope.omitStages.has(stage)) return;
    const base = { state, domain, level: scope.level, stage, nowMs: clock.now(), annotations: {} };
    if (writer.write(formatEvent({ ...base, ...more }))) events.with().inc();
    else failures.with('log').inc();
  }

  function recordOf(state: RequestState, scope: AuditScope): AuditRecord {
    return {
      started() {
        record(state, scope, 'ResponseStarted', {
          responseStatus: { metadata: {}, code: state.status || 200 },
        });
      },
      complete(response) {
        if (scope.omitStages.has('ResponseComplete')) return;
        record(state, scope, 'ResponseComplete', {
          responseStatus: responseStatusOf(state, response),
          ...bodiesOf(state, scope, response),
        });
      },
    };
  }

  return {
    begin(state) {
      const scope = scopeFor(policy, state.info, state.originalUser);
      if (scope.level === 'None') return undefined;
      record(state, scope, 'RequestReceived', {});
      return recordOf(state, scope);
    },
  };
}
