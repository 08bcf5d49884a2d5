/** HTTP server of the API server: listeners, pipeline, limits, metrics and graceful shutdown. */
import type { Clock } from '#api/kit/clock.ts';
import type { Logger } from '#api/kit/logger.ts';
import type { MetricsRegistry } from '#api/kit/metrics.ts';
import type { Vocabulary } from '#api/vocabulary.ts';
import type { FlowControl } from '../flow-control/flow-control.ts';
import type { UserInfo } from '../resources/contract.ts';
import { DEFAULT_BODY_LIMIT_BYTES } from './connection/body.ts';
import {
  createListener,
  type ListenAddress,
  type ListenerOptions,
  type ServingCertificate,
} from './connection/listener.ts';
import type { ApiRequest, Handler, PathRoute, RequestInfo } from './contract.ts';
import { createInFlight, type InFlightOptions } from './limits/in-flight.ts';
import { createRequestMetrics } from './metrics/request-metrics.ts';
import type { Authenticate } from './pipeline/authenticate.ts';
import type { Authorize } from './pipeline/authorize.ts';
import type { BrowserPolicy } from './pipeline/browser.ts';
import { createPipeline, createRequestBatches, type PipelineDeps } from './pipeline/pipeline.ts';
import { createRouter } from './pipeline/router.ts';
import type { Auditor } from './request/server-request.ts';
import { type EncodeStatus, encodeStatusAsJson } from './response/status-response.ts';
import { type BacklogLimits, createStreamer } from './response/stream.ts';

export interface ApiServerDeps {
  readonly clock: Clock;
  readonly log: Logger;
  readonly vocabulary: Vocabulary;
  readonly registry: MetricsRegistry;
  /** All authenticators combined. */
  readonly authenticate: Authenticate;
  /** All authorizers combined. */
  readonly authorize: Authorize;
  /** Returns the impersonated user if the headers name one. @throws StatusError Forbidden */
  readonly impersonate?: (request: ApiRequest) => UserInfo | Promise<UserInfo>;
  /** Non-resource paths; a route with `below` handles everything under it. */
  readonly routes: readonly PathRoute[];
  /** Handles all resource paths, below a group and version. */
  readonly resources: Handler;
  /** Reports whether a resource exists, so that metrics may use its name. Default: none does. */
  readonly isServed?: (info: RequestInfo) => boolean;
  /** Default: JSON, whatever the client accepts. */
  readonly encodeStatus?: EncodeStatus;
  readonly audit?: Auditor;
  /** API priority and fairness; absent: `inFlight` of the options limits requests. */
  readonly flowControl?: FlowControl;
  /** Headers for browsers. Default: none. */
  readonly browser?: BrowserPolicy | undefined;
}

export interface ApiServerOptions extends ListenerOptions {
  /** `--request-timeout`. Default 60 s. */
  readonly requestTimeoutMs?: number;
  /** Whether responses are compressed for clients that accept it. Default true. */
  readonly compress?: boolean;
  /** Default 3 MiB. */
  readonly bodyLimitBytes?: number;
  readonly inFlight?: InFlightOptions;
  readonly streams?: BacklogLimits & { readonly partingMs?: number };
}

export interface ApiServer {
  /** Resolves with the port in use. */
  listen(address: ListenAddress): Promise<number>;
  setCertificate(certificate: ServingCertificate): void;
  /** Stops accepting connections, ends streams, waits for requests in flight, and destroys the rest after the
   *  timeout or when `hurry` fires. */
  close(options?: { readonly drainMs?: number; readonly hurry?: AbortSignal }): Promise<void>;
  readonly activeRequests: number;
}

/** The parts of the request pipeline. */
export function pipelineParts(deps: ApiServerDeps, options: ApiServerOptions): PipelineDeps {
  const { clock } = deps;
  const domain = deps.vocabulary.apiGroupDomain;
  const inFlight = createInFlight({ clock }, options.inFlight);
  const metrics = createRequestMetrics({
    registry: deps.registry,
    inFlight: deps.flowControl ?? inFlight,
    isServed: deps.isServed ?? (() => false),
    domain,
  });
  return {
    ...deps,
    joinBatch: createRequestBatches({ clock, defer: setImmediate }),
    inFlight,
    metrics,
    router: createRouter(deps.routes),
    encodeStatus: deps.encodeStatus ?? encodeStatusAsJson,
    compress: options.compress ?? true,
    streamer: createStreamer({ clock }, { ...options.streams, compress: options.compress ?? true, domain }),
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
      serve: pipeline.serve,
      onError: (err) => deps.log.warn({ err }, 'Failed to accept connection'),
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
