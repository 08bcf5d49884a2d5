/** Objects of manifests, read without the agent. Pure apart from yielding to the event loop. */
import { parseDocumentsInTurns } from '#api/codec/documents.ts';
import { isObject, textOf } from '#api/kit/object.ts';
import type { FieldError } from '#api/meta/field-error.ts';
import { VOCABULARIES, type Vocabulary } from '#api/vocabulary.ts';
import { type DocumentPart, readPart, splitDocument } from '../../sources/manifest-set.ts';
import { DEFAULT_NAMESPACE } from '../listing/find-pod.ts';
import type { ManifestText } from './read.ts';

/** Kind, namespace and name of an object; a PersistentVolume has no namespace. */
export interface ObjectName {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
}

export interface ManifestObject {
  /** `web.yaml, document 2` */
  readonly place: string;
  readonly document: string;
  /** `Pod default/web`, as far as it could be read. */
  readonly identity: string;
  /** Undefined if it has no kind or name. */
  readonly name: ObjectName | undefined;
  readonly manifest: unknown;
  readonly errors: readonly FieldError[];
}

/** Returns the name of a manifest with a kind and a name. */
export function nameOfManifest(manifest: unknown, kind?: string): ObjectName | undefined {
  if (!isObject(manifest)) return undefined;
  const ofKind = kind ?? textOf(manifest['kind']);
  const metadata = isObject(manifest['metadata']) ? manifest['metadata'] : {};
  const name = textOf(metadata['name']);
  if (ofKind === '' || name === '') return undefined;
  const namespace = ofKind === 'PersistentVolume' ? '' : textOf(metadata['namespace']) || DEFAULT_NAMESPACE;
  return { kind: ofKind, namespace, name };
}

export const nameKey = ({ kind, namespace, name }: ObjectName): string => `${kind} ${namespace}/${name}`;

/** Validates every document as the agent does. @throws the signal's reason when it fires */
export async function readObjects(
  { name: file, text }: ManifestText,
  vocabulary: Vocabulary,
  { signal, nowMs }: { readonly signal: AbortSignal; readonly nowMs: number },
): Promise<readonly ManifestObject[]> {
  const deps = { clock: { now: () => nowMs }, nodeName: 'node', vocabulary };
  const objects: ManifestObject[] = [];
  for (const document of await parseDocumentsInTurns(text, signal)) {
    for (const part of splitDocument(document, vocabulary)) {
      objects.push(objectOf(file, part, validate(deps, part)));
    }
  }
  return objects;
}

function validate(deps: Parameters<typeof readPart>[0], part: DocumentPart): readonly FieldError[] {
  const origin = { source: 'socket', location: '', document: part.number } as const;
  return readPart(deps, part, origin, undefined).rejected.flatMap(({ errors }) => errors);
}

function objectOf(file: string, part: DocumentPart, errors: readonly FieldError[]): ManifestObject {
  const { decoded, manifest, number } = part;
  const kind = decoded.kind === 'Unknown' ? undefined : decoded.kind;
  return {
    place: `${file}, document ${number}`,
    document: number,
    identity: decoded.identity,
    name: nameOfManifest(manifest, kind),
    manifest,
    errors,
  };
}

/** Returns the vocabulary of the option; that of the platform without one. */
export const vocabularyOf = (name: keyof typeof VOCABULARIES | undefined): Vocabulary =>
  VOCABULARIES[name ?? 'plat'];
