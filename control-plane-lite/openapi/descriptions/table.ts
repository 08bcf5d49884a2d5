/** All descriptions by package and type. */
import type { TypeName } from '#api/schema/registry.ts';
import { VOCABULARIES } from '#api/vocabulary.ts';
import { ACCESS_TEXTS } from './access.ts';
import { CONTAINER_TEXTS } from './containers.ts';
import { CORE_TEXTS } from './core.ts';
import { EXTENSION_TEXTS } from './extension.ts';
import { META_TEXTS } from './meta.ts';
import { METRICS_TEXTS } from './metrics.ts';
import { NETWORKING_TEXTS } from './networking.ts';
import { POD_TEXTS } from './pods.ts';
import { STORAGE_TEXTS } from './storage.ts';
import type { Text, Texts } from './texts.ts';
import { WORKLOAD_TEXTS } from './workloads.ts';

export const ALL_TEXTS: readonly Texts[] = [
  META_TEXTS,
  POD_TEXTS,
  CONTAINER_TEXTS,
  CORE_TEXTS,
  WORKLOAD_TEXTS,
  NETWORKING_TEXTS,
  STORAGE_TEXTS,
  ACCESS_TEXTS,
  EXTENSION_TEXTS,
  METRICS_TEXTS,
];

const BY_NAME: ReadonlyMap<string, Text> = new Map(ALL_TEXTS.flatMap((texts) => Object.entries(texts)));

/** Types that have the members of another type in addition to their own. */
const LIKE: Readonly<Record<string, string>> = { 'core/v1.EphemeralContainer': 'core/v1.Container' };

/** The platform's domain, which the packages of the tables contain. */
const DOMAIN = `.${VOCABULARIES.plat.apiGroupDomain}/`;
const nameOf = ({ packageName, typeName }: TypeName): string =>
  `${packageName.replace(DOMAIN, '/')}.${typeName}`;

/** Returns the description of a type. */
export const textOf = (name: TypeName): string | undefined => BY_NAME.get(nameOf(name))?.is;

/** Returns the description of a member of a type. */
export function memberTextOf(name: TypeName, member: string): string | undefined {
  const key = nameOf(name);
  return BY_NAME.get(key)?.members?.[member] ?? BY_NAME.get(LIKE[key] ?? '')?.members?.[member];
}
