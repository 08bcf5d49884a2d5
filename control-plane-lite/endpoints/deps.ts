/** Dependencies of the endpoints. */
import type { Clock } from '#api/kit/clock.ts';
import type { Vocabulary } from '#api/vocabulary.ts';
import type { Authorizer } from '../authz/contract.ts';
import type { Cache } from '../cache/contract.ts';
import type { ApiRequest, ApiResponse, Handler } from '../http/contract.ts';
import type { Resource, UserInfo } from '../resources/contract.ts';
import type { ResourceRegistry } from '../resources/registry.ts';
import type { Caller, ObjectRef, Verbs } from '../verbs/contract.ts';
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
  /** Handles resources of aggregated servers; consulted before this server's own. */
  readonly delegate?: (request: ApiRequest) => Handler | undefined;
  /** Connect subresources: `pods/exec`, `nodes/proxy`… */
  readonly connect?: (request: ApiRequest, resource: Resource) => ConnectHandler | undefined;
}

export type ConnectHandler = (
  request: ApiRequest,
  asked: ConnectRequest,
) => ApiResponse | Promise<ApiResponse>;

/** A class for its getter: the signal is created on first use, which is rare. */
class RequestCaller implements Caller {
  readonly #request: ApiRequest;
  readonly user: UserInfo;

  constructor(request: ApiRequest) {
    this.#request = request;
    this.user = request.user;
  }

  get signal(): AbortSignal {
    return this.#request.signal;
  }

  warn(text: string): void {
    this.#request.warn(text);
  }

  annotate(key: string, value: string): void {
    this.#request.annotate(key, value);
  }
}

export const callerOf = (request: ApiRequest): Caller => new RequestCaller(request);

/** The path of a namespace contains a namespace for authorization; the object itself has none. */
export const refOf = ({ info }: ApiRequest, resource: Resource): ObjectRef => ({
  resource,
  namespace: resource.info.namespaced ? info.namespace : '',
  name: info.name,
});
