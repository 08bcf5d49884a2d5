/** The paths that describe the API: discovery and the version. */
import type { ApiProtobuf } from '#api/codec/api-protobuf.ts';
import { createDiscoveryRoutes } from '../discovery/routes.ts';
import type { PathRoute } from '../http/contract.ts';
import { PRODUCT_VERSION } from '../version.ts';
import type { Core } from './core.ts';

/** `serverAddress`: `host:port` under which clients reach the server; asked with each request. */
export function descriptionRoutes(
  { vocabulary, registry, clock }: Core,
  protobuf: ApiProtobuf,
  serverAddress: () => string,
): readonly PathRoute[] {
  const build = {
    product: `control-plane-lite.${PRODUCT_VERSION}`,
    gitCommit: '',
    // Sources run as they are: what is built is built when it starts.
    buildDate: new Date(clock.now()).toISOString().replace(/\.\d+/, ''),
    arch: process.arch,
    nodeVersion: process.version,
  };
  return createDiscoveryRoutes({ vocabulary, registry, protobuf, build, serverAddress });
}
