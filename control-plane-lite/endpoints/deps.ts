/** Dependencies of the endpoints. */
import type { Clock } from '#api/kit/clock.ts';
import type { Vocabulary } from '#api/vocabulary.ts';
import type { Authorizer } from '../authz/contract.ts';
import type { Cache } from '../cache/contract.ts';
import type { ApiRequest, ApiResponse, Handler } from '../http/contract.ts';
import type { Resource } from '../resources/contract.ts';
import type { ResourceRegistry } from '../resources/registry.ts';
import type { Verbs } from '../verbs/contract.ts';
import type { ConnectRequest } from './connect-options.ts';
import type { Content } from './content.ts';

export interface EndpointDeps {
  readonly registry: ResourceRegistry;
  readonly cache: Cache;
  readonly verbs: Verbs;
  readonly content: Content;
  readonly authorizer: Authorizer;
  readonly clock: Clock;
  readonly vocabulary: Vocabulary;
  /** Lists. Default: in pages, with the number of items left. */
  readonly lists?: ListFeatures;
  /** Minimum timeout of watches that request none; they end after up to twice that, so that they don't all end
   *  together. */
  readonly watchTimeoutMs: number;
  /** Handles resources of aggregated servers; consulted before this server's own. */
  readonly delegate?: (request: ApiRequest) => Handler | undefined;
  /** Connect subresources: `pods/exec`, `nodes/proxy`… */
  readonly connect?: (request: ApiRequest, resource: Resource) => ConnectHandler | undefined;
}

export interface ListFeatures {
  /** `limit` and `continue` are honored; otherwise every list is whole. */
  readonly inPages: boolean;
  /** Pages tell how many items are left. */
  readonly countRest: boolean;
}

export type ConnectHandler = (
  request: ApiRequest,
  target: ConnectRequest,
) => ApiResponse | Promise<ApiResponse>;
