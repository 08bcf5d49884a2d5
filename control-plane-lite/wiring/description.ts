/** Paths that describe the API: discovery, the version, and OpenAPI documents. */
import type { ApiProtobuf } from '#api/protobuf/api-protobuf.ts';
import type { ExtraGroup } from '../discovery/groups.ts';
import { createDiscoveryRoutes } from '../discovery/routes.ts';
import type { PathRoute } from '../http/contract.ts';
import type { OtherDocuments } from '../openapi/others.ts';
import { createOpenApiRoutes } from '../openapi/routes.ts';
import { PRODUCT_VERSION, productCommit } from '../version.ts';
import type { Core } from './core.ts';

export interface DescriptionParts {
  readonly protobuf: ApiProtobuf;
  /** `host:port` at which clients reach the server; read on each request. */
  readonly serverAddress: () => string;
  readonly extraGroups: () => readonly ExtraGroup[];
  /** Descriptions of aggregated servers; absent: none. */
  readonly others: OtherDocuments | undefined;
  /** Paths of other subsystems, for the list at `/`. */
  readonly otherPaths: readonly string[];
}

export function descriptionRoutes(
  { vocabulary, registry, clock, gates }: Core,
  { protobuf, serverAddress, extraGroups, others, otherPaths }: DescriptionParts,
): readonly PathRoute[] {
  const product = `control-plane-lite.${PRODUCT_VERSION}`;
  const build = {
    product,
    gitCommit: productCommit(),
    // Sources run unbundled: documents are built at start.
    buildDate: new Date(clock.now()).toISOString().replace(/\.\d+/, ''),
    arch: process.arch,
    nodeVersion: process.version,
  };
  const openApi = createOpenApiRoutes({
    vocabulary,
    registry,
    product,
    version3: gates.has('OpenAPIV3'),
    enums: gates.has('OpenAPIEnums'),
    ...(others === undefined ? {} : { others }),
  });
  const discovery = createDiscoveryRoutes({
    vocabulary,
    registry,
    protobuf,
    build,
    serverAddress,
    storageVersionHashes: gates.has('StorageVersionHash'),
    extraGroups,
    otherPaths: [...otherPaths, ...openApi.map(({ path }) => path)],
  });
  return [...discovery, ...openApi];
}
