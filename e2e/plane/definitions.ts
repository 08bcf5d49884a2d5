/** Builders of custom resource definitions for tests: cakes of a shop. */
import type { CustomResourceDefinitionCondition } from '#api/gen/apiextensions-v1.ts';
import type { Body, Json, Plane, Reply } from './support.ts';

export interface VersionShape {
  readonly name?: string;
  readonly served?: boolean;
  readonly storage?: boolean;
  /** Members of the root of the schema. */
  readonly properties?: Json;
  /** Instead of the whole root. */
  readonly root?: Json;
  readonly more?: Json;
}

export interface Shape {
  readonly plural: string;
  readonly group?: string;
  readonly kind?: string;
  readonly scope?: 'Namespaced' | 'Cluster';
  readonly names?: Json;
  readonly versions?: readonly VersionShape[];
  readonly conversion?: Json;
}

export const GROUP = 'shop.example';

const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

export const kindOf = ({ plural, kind = capital(plural.replace(/s$/, '')) }: Shape): string => kind;

function version({
  name = 'v1',
  served = true,
  storage = true,
  properties = {},
  root,
  more,
}: VersionShape): Json {
  const schema = root ?? { type: 'object', properties };
  return { name, served, storage, schema: { openAPIV3Schema: schema }, ...more };
}

/** A definition as it is posted. */
export function definition(plane: Plane, shape: Shape): Json {
  const { plural, group = GROUP, scope = 'Namespaced', names = {}, versions = [{}], conversion } = shape;
  return {
    apiVersion: `apiextensions.${plane.words.apiGroupDomain}/v1`,
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      scope,
      names: { plural, kind: kindOf(shape), ...names },
      versions: versions.map(version),
      ...(conversion === undefined ? {} : { conversion }),
    },
  };
}

export const definitions = (plane: Plane): string =>
  plane.path('apiextensions/v1', 'customresourcedefinitions');

export const conditionsOf = (body: Body): readonly CustomResourceDefinitionCondition[] =>
  (body.status['conditions'] ?? []) as readonly CustomResourceDefinitionCondition[];

export const holds = (body: Body, type: string, status = 'True'): boolean =>
  conditionsOf(body).some((each) => each.type === type && each.status === status);

/** The definition as soon as the condition is met. */
export async function untilDefinition(
  plane: Plane,
  name: string,
  isSo: (body: Body) => boolean,
): Promise<Body> {
  await using watch = await plane.watch(`${definitions(plane)}?watch=1&fieldSelector=metadata.name=${name}`);
  for (;;) {
    const event = await watch.next();
    if (event === undefined) throw new Error(`the watch of ${name} ended`);
    if (event.type !== 'DELETED' && isSo(event.object)) return event.object;
  }
}

/** Until the definition is gone. */
export async function untilGone(plane: Plane, name: string): Promise<void> {
  const found = await plane.get(`${definitions(plane)}/${name}`);
  if (found.status === 404) return;
  const since = `resourceVersion=${found.body.metadata.resourceVersion ?? ''}`;
  await using watch = await plane.watch(
    `${definitions(plane)}?watch=1&${since}&fieldSelector=metadata.name=${name}`,
  );
  for (;;) {
    const event = await watch.next();
    if (event === undefined) throw new Error(`the watch of ${name} ended`);
    if (event.type === 'DELETED') return;
  }
}

export interface Defined {
  readonly name: string;
  /** Of the definition. */
  readonly path: string;
  readonly kind: string;
  /** Collection in the namespace `default`, or of the cluster. */
  collection(version?: string): string;
  object(name: string, members?: Json, version?: string): Json;
  create(name: string, members?: Json, version?: string): Promise<Reply>;
  /** Changes the definition: a JSON patch. */
  change(operations: readonly Json[]): Promise<Reply>;
}

/** Makes a definition and waits until it is established. */
export async function define(plane: Plane, shape: Shape): Promise<Defined> {
  const { plural, group = GROUP, scope = 'Namespaced', versions = [{}] } = shape;
  const name = `${plural}.${group}`;
  const made = await plane.post(definitions(plane), definition(plane, shape));
  if (made.status !== 201) throw new Error(`${name}: ${made.text}`);
  await untilDefinition(plane, name, (body) => holds(body, 'Established'));
  const first = versions[0]?.name ?? 'v1';
  const kind = kindOf(shape);
  const path = `${definitions(plane)}/${name}`;
  const collection = (of = first): string =>
    `/apis/${group}/${of}${scope === 'Namespaced' ? '/namespaces/default' : ''}/${plural}`;
  const object = (as: string, members: Json = {}, of = first): Json => ({
    apiVersion: `${group}/${of}`,
    kind,
    metadata: { name: as, ...(members['metadata'] as Json | undefined) },
    ...Object.fromEntries(Object.entries(members).filter(([member]) => member !== 'metadata')),
  });
  return {
    name,
    path,
    kind,
    collection,
    object,
    create: (as, members, of) => plane.post(collection(of), object(as, members, of)),
    change: (operations) => plane.patch(path, operations, 'application/json-patch+json'),
  };
}
