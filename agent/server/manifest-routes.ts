/** Routes of the local socket for manifests and the objects in them. Values of Secrets are not exposed. */
import { type Int64, int64Of, parseInt64 } from '#api/kit/int64.ts';
import { isObject } from '#api/kit/object.ts';
import { StatusError } from '#api/meta/status-error.ts';
import type { ApplyResult, DeleteRequest } from '../sources/applied/applied.ts';
import type { ConfigObject, DesiredState } from '../sources/types.ts';
import type { Route, RouteRequest, RouteResult } from './routes.ts';

export interface ManifestRouteDeps {
  readonly objects: () => readonly ConfigObject[];
  readonly desired: () => DesiredState;
  readonly apply: (text: string, dryRun: boolean) => Promise<readonly ApplyResult[]>;
  /** Manifests as applied. */
  readonly applied: () => Promise<readonly unknown[]>;
  /** Location of the manifest of another source that defines the object. */
  readonly placeOf: (request: DeleteRequest) => string | undefined;
  readonly remove: (request: DeleteRequest, gracePeriodSeconds: Int64 | undefined) => Promise<boolean>;
}

const json = (value: unknown): RouteResult => ({ kind: 'json', value });

export function manifestRoutes(deps: ManifestRouteDeps): readonly Route[] {
  return [
    { method: 'GET', path: '/objects', handle: () => json({ items: deps.objects().map(withoutSecretData) }) },
    {
      method: 'GET',
      path: '/manifests/problems',
      handle: () => {
        const { rejected, conflicts } = deps.desired();
        return json({ rejected, conflicts });
      },
    },
    {
      method: 'POST',
      path: '/apply',
      handle: async ({ body, query }) =>
        json({ results: await deps.apply(await body(), query.get('dryRun') === 'true') }),
    },
    {
      method: 'GET',
      path: '/applied',
      handle: async () => json({ items: (await deps.applied()).map(maskSecret) }),
    },
    {
      method: 'GET',
      path: '/manifests/origins',
      handle: () => {
        const { pods, objects } = deps.desired();
        const named = [
          ...pods.map(({ pod, origin }) => ({ kind: 'Pod', metadata: pod.metadata, origin })),
          ...objects.map(({ object, origin }) => ({ kind: object.kind, metadata: object.metadata, origin })),
        ];
        return json({
          items: named.map(({ kind, metadata, origin }) => ({
            kind,
            namespace: metadata?.namespace ?? '',
            name: metadata?.name ?? '',
            origin,
          })),
        });
      },
    },
    { method: 'DELETE', path: '/:kind/:namespace/:name', handle: (request) => remove(deps, request) },
  ];
}

/** Replaces the values of a Secret's manifest; their content is not exposed. */
function maskSecret(manifest: unknown): unknown {
  if (!isObject(manifest) || manifest['kind'] !== 'Secret') return manifest;
  const mask = (values: unknown): unknown =>
    isObject(values) ? Object.fromEntries(Object.keys(values).map((key) => [key, SECRET_MASK])) : values;
  const masked = Object.entries(manifest).map(([key, value]) => [
    key,
    key === 'data' || key === 'stringData' ? mask(value) : value,
  ]);
  return Object.fromEntries(masked);
}

const SECRET_MASK = '***';

/** Secrets are listed by name; their content is not exposed. */
function withoutSecretData(object: ConfigObject): object {
  if (object.kind !== 'Secret') return object;
  return { apiVersion: 'v1', kind: 'Secret', metadata: object.metadata, type: object.type };
}

async function remove(deps: ManifestRouteDeps, { params, query }: RouteRequest): Promise<RouteResult> {
  const { kind = '', namespace = '', name = '' } = params;
  const grace = query.get('gracePeriodSeconds');
  const exact = grace === null ? undefined : parseInt64(grace);
  if (grace !== null && (exact === undefined || exact < 0n)) {
    throw new StatusError(
      'BadRequest',
      `gracePeriodSeconds: ${JSON.stringify(grace)} is not an integer number of seconds`,
    );
  }
  const seconds = exact === undefined ? undefined : int64Of(exact);
  const removed = await deps.remove({ kind, namespace, name }, seconds);
  const place = removed ? undefined : deps.placeOf({ kind, namespace, name });
  if (place !== undefined) {
    const message = `it comes from ${place}, not from apply: remove it there`;
    throw new StatusError('Conflict', message);
  }
  if (!removed) {
    throw new StatusError('NotFound', `${kind} ${namespace}/${name} was not applied through this socket`);
  }
  return json({ removed: `${kind} ${namespace}/${name}` });
}
