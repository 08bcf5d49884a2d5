/** Routes `/`, `/api`, `/apis`, the paths below them up to a group version, and `/version`. */

import { StatusError } from '#api/meta/status-error.ts';
import type { ApiProtobuf } from '#api/protobuf/api-protobuf.ts';
import type { Vocabulary } from '#api/vocabulary.ts';
import type { ApiRequest, ApiResponse, Handler, PathRoute } from '../http/contract.ts';
import type { ResourceRegistry } from '../resources/registry.ts';
import { aggregatedContentType, aggregatedVersion, groupDiscoveryList } from './aggregated.ts';
import { apiGroup, apiGroupList, apiResourceList, apiVersions, discoveryPaths } from './documents.ts';
import { createForms, type Document, type Forms } from './forms.ts';
import { type ExtraGroup, type ServedGroup, servedGroups } from './groups.ts';
import { type BuildInfo, versionInfo } from './version.ts';

export interface DiscoveryDeps {
  readonly vocabulary: Vocabulary;
  readonly registry: Pick<ResourceRegistry, 'all' | 'generation'>;
  readonly protobuf: ApiProtobuf;
  readonly build: BuildInfo;
  /** Whether resources have the hash of their storage version. Default true. */
  readonly storageVersionHashes?: boolean;
  /** `host:port` of the server for clients. */
  readonly serverAddress: () => string;
  /** Groups of aggregated servers; the same array until they change. Default: none. */
  readonly extraGroups?: () => readonly ExtraGroup[];
  /** Further paths for the list at `/`. */
  readonly otherPaths?: readonly string[];
}

/** Nothing is served there. */
function nothingThere(): StatusError {
  return new StatusError('NotFound', 'the server could not find the requested resource');
}

const JSON_TYPE = 'application/json';
const NO_EXTRAS: readonly ExtraGroup[] = [];
const isCore = ({ name }: ServedGroup): boolean => name === '';

/** The groups as they are now, counted again only after a change. */
function createGroups(
  { registry, vocabulary, extraGroups, storageVersionHashes }: DiscoveryDeps,
  changed: () => void,
): () => readonly ServedGroup[] {
  let generation = -1;
  let extras = NO_EXTRAS;
  let groups: readonly ServedGroup[] = [];
  return (): readonly ServedGroup[] => {
    const others = extraGroups?.() ?? NO_EXTRAS;
    if (generation !== registry.generation || extras !== others) {
      generation = registry.generation;
      extras = others;
      groups = servedGroups(registry.all(), extras, vocabulary, storageVersionHashes);
      changed();
    }
    return groups;
  };
}

export function createDiscoveryRoutes(deps: DiscoveryDeps): readonly PathRoute[] {
  const { vocabulary } = deps;
  const forms = createForms(deps);
  const current = createGroups(deps, () => forms.clear());
  const running = versionInfo(deps.build);

  /** `/api` or `/apis` itself: the whole list if the client knows of it. */
  function answerRoot(
    request: ApiRequest,
    name: string,
    groups: readonly ServedGroup[],
    make: () => Document,
  ): ApiResponse {
    const as = aggregatedVersion(request.headers.accept, vocabulary);
    if (as === undefined) return forms.respond(request, name, make);
    const contentType = aggregatedContentType(as, vocabulary);
    return forms.respondJson(request, name, contentType, () => groupDiscoveryList(groups, as, vocabulary));
  }

  const core: Handler = (request) => {
    const group = current().find(isCore);
    const [version, ...more] = segmentsOf(request);
    if (version !== undefined) return answerVersion(forms, request, group, version, more);
    return answerRoot(request, 'core', group === undefined ? [] : [group], () =>
      apiVersions(group, deps.serverAddress()),
    );
  };

  const named: Handler = (request) => {
    const groups = current().filter((group) => !isCore(group));
    const [name, version, ...more] = segmentsOf(request);
    if (name === undefined) return answerRoot(request, 'named', groups, () => apiGroupList(groups));
    const group = groups.find((known) => known.name === name);
    if (group === undefined) throw nothingThere();
    if (version !== undefined) return answerVersion(forms, request, group, version, more);
    return forms.respond(request, `group ${name}`, () => apiGroup(group));
  };

  const index: Handler = (request) => {
    const paths = ['/apis', '/version', ...discoveryPaths(current()), ...(deps.otherPaths ?? [])].toSorted();
    return forms.respondJson(request, 'paths', JSON_TYPE, () => ({ paths }));
  };

  const methods = ['GET'];
  return [
    { path: '/', methods, handler: index },
    { path: '/api', below: true, methods, handler: core },
    { path: '/apis', below: true, methods, handler: named },
    {
      path: '/version',
      methods,
      handler: (request) => forms.respondJson(request, 'version', JSON_TYPE, () => running),
    },
  ];
}

/** `/api/v1` or `/apis/<group>/<version>`. @throws StatusError NotFound */
function answerVersion(
  forms: Forms,
  request: ApiRequest,
  group: ServedGroup | undefined,
  name: string,
  more: readonly string[],
): ApiResponse | Promise<ApiResponse> {
  const served = group?.versions.find(({ version }) => version === name);
  if (group === undefined || served === undefined || more.length > 0) throw nothingThere();
  if (served.forward !== undefined) return served.forward(request);
  return forms.respond(request, `resources ${group.name}/${name}`, () => apiResourceList(group, served));
}

/** Segments of a path after `/api` or `/apis`. */
function segmentsOf({ info }: ApiRequest): readonly string[] {
  const [, , ...rest] = info.path.split('/');
  if (rest.at(-1) === '') rest.pop();
  return rest;
}
