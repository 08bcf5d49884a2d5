/** The HTTP side of the API server put together: listeners, pipeline, limits, metrics, orderly end. */
import type { Clock } from '#api/kit/clock.ts';
import type { Logger } from '#api/kit/logger.ts';
import type { MetricsRegistry } from '#api/kit/metrics.ts';
import type { Vocabulary } from '#api/vocabulary.ts';
import type { UserInfo } from '../resources/contract.ts';
import type { Auditor } from './audit/auditor.ts';
import type { Authenticate } from './authentication.ts';
import type { Authorize } from './authorization.ts';
import type { BacklogLimits } from './backlog.ts';
import { DEFAULT_BODY_LIMIT_BYTES } from './body.ts';
import type { ApiRequest, Handler, PathRoute, RequestInfo } from './contract.ts';
import { createInFlight, type InFlightOptions } from './in-flight.ts';
import {
  createListener,
  type ListenAddress,
  type ListenerOptions,
  type ServingCertificate,
} from './listener.ts';
import { createPipeline, type PipelineDeps } from './pipeline.ts';
import { createRequestMetrics } from './request-metrics.ts';
import { createRouter } from './router.ts';
import { createSideBySide } from './side-by-side.ts';
import { type EncodeStatus, encodeStatusAsJson } from './status-response.ts';
import { createStreamer } from './stream.ts';

export interface ApiServerDeps {
  readonly clock: Clock;
  readonly log: Logger;
  readonly vocabulary: Vocabulary;
  readonly registry: MetricsRegistry;
  /** All methods of authentication together. */
  readonly authenticate: Authenticate;
  /** All modes of authorization together. */
  readonly authorize: Authorize;
  /** Whom the request is made for, where its headers name somebody else. @throws StatusError Forbidden */
  readonly impersonate?: (request: ApiRequest) => UserInfo | Promise<UserInfo>;
  /** Paths of no resource; a route with `below` answers for everything under it. */
  readonly routes: readonly PathRoute[];
  /** Everything below a group's version. */
  readonly resources: Handler;
  /** Whether a resource exists, so that metrics may name it. Default: none does. */
  readonly isServed?: (info: RequestInfo) => boolean;
  /** Default: JSON, whatever the client accepts. */
  readonly encodeStatus?: EncodeStatus;
  readonly audit?: Auditor;
}

export interface ApiServerOptions extends ListenerOptions {
  /** `--request-timeout`. Default 60 s. */
  readonly requestTimeoutMs?: number;
  /** Default 3 MiB. */
  readonly bodyLimitBytes?: number;
  readonly inFlight?: InFlightOptions;
  readonly streams?: BacklogLimits & { readonly partingMs?: number };
}

export interface ApiServer {
  /** Resolves with the port in use. */
  listen(address: ListenAddress): Promise<number>;
  setCertificate(certificate: ServingCertificate): void;
  /** Takes no more connections, ends streams, waits for requests under way, and cuts what is left after the time, or
   *  when `hurry` fires. */
  close(options?: { readonly drainMs?: number; readonly hurry?: AbortSignal }): Promise<void>;
  readonly activeRequests: number;
}

/** Everything that a request's way through the server is made of. */
export function pipelineParts(deps: ApiServerDeps, options: ApiServerOptions): PipelineDeps {
  const { clock } = deps;
  const domain = deps.vocabulary.apiGroupDomain;
  const inFlight = createInFlight({ clock }, options.inFlight);
  const metrics = createRequestMetrics({
    registry: deps.registry,
    inFlight,
    isServed: deps.isServed ?? (() => false),
    domain,
  });
  return {
    ...deps,
    sideBySide: createSideBySide(setImmediate),
    inFlight,
    metrics,
    router: createRouter(deps.routes),
    encodeStatus: deps.encodeStatus ?? encodeStatusAsJson,
    streamer: createStreamer({ clock }, { ...options.streams, domain }),
    domain,
  };
}

export function createApiServer(deps: ApiServerDeps, options: ApiServerOptions): ApiServer {
  const { clock } = deps;
  const pipeline = createPipeline(pipelineParts(deps, options), {
    requestTimeoutMs: options.requestTimeoutMs ?? 60_000,
    bodyLimitBytes: options.bodyLimitBytes ?? DEFAULT_BODY_LIMIT_BYTES,
  });
  const listener = createListener(
    {
      serve: (exchange) => pipeline.serve(exchange),
      onError: (err) => deps.log.warn({ err }, 'Connection could not be taken'),
    },
    options,
  );
  return {
    listen: (address) => listener.listen(address),
    setCertificate: (certificate) => listener.setCertificate(certificate),
    get activeRequests() {
      return pipeline.active;
    },
    async close({ drainMs = 10_000, hurry } = {}) {
      const drained = listener.drain();
      pipeline.abort('longRunning');
      const cut = (): void => {
        pipeline.abort('all');
        listener.destroy();
      };
      const timer = clock.setTimer(cut, hurry?.aborted === true ? 0 : drainMs);
      hurry?.addEventListener('abort', cut, { once: true });
      await drained;
      await pipeline.whenIdle();
      timer.cancel();
      hurry?.removeEventListener('abort', cut);
    },
  };
}
