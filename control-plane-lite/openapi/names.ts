/** Names of definitions, and the extensions by which clients find the definition of a kind. Pure. */
import { type TypeName, upstreamProtoPackage, wireApiVersion } from '#api/schema/registry.ts';
import { VOCABULARIES, type Vocabulary } from '#api/vocabulary.ts';

/** A group's version and kind, as `x-…-group-version-kind` has it. */
export interface GroupVersionKind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
}

const reversed = (domain: string): string => domain.split('.').toReversed().join('.');

const UPSTREAM_COMPONENT = `${VOCABULARIES.kubernetes.componentPrefix}_`;

/** A word of an upstream package in the words of the vocabulary. */
function packageWord(word: string, { componentPrefix }: Vocabulary): string {
  const own = word.startsWith(UPSTREAM_COMPONENT)
    ? `${componentPrefix}_${word.slice(UPSTREAM_COMPONENT.length)}`
    : word;
  return own.replaceAll('_', '-');
}

/** `io.….api.core.v1.Pod`: the platform's domain backwards, then the package as upstream has it. */
export function definitionName({ packageName, typeName }: TypeName, vocabulary: Vocabulary): string {
  // The two labels of upstream's domain precede the group.
  const [, , ...words] = (upstreamProtoPackage(packageName) ?? `..${packageName}`).split('.');
  const path = words.map((word) => packageWord(word, vocabulary));
  return [reversed(vocabulary.apiGroupDomain), ...path, typeName].join('.');
}

/** Name of a custom resource's definition: `com.example.stable.v1.CronTab`. */
export const customDefinitionName = ({ group, version, kind }: GroupVersionKind): string =>
  `${reversed(group)}.${version}.${kind}`;

function splitApiVersion(apiVersion: string): Omit<GroupVersionKind, 'kind'> {
  const slash = apiVersion.indexOf('/');
  return { group: apiVersion.slice(0, Math.max(slash, 0)), version: apiVersion.slice(slash + 1) };
}

/** Returns the group, version and kind of a type. */
export function kindOfType({ packageName, typeName }: TypeName, vocabulary: Vocabulary): GroupVersionKind {
  return { ...splitApiVersion(wireApiVersion(packageName, vocabulary)), kind: typeName };
}
