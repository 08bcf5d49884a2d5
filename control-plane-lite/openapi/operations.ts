/** Operations of a resource by path, independent of the OpenAPI version. Pure. Source: verbs and paths,
 *  document 1 §4.1 and §4.2. */
import type { Vocabulary } from '#api/vocabulary.ts';
import type { Resource, ResourceInfo, SubresourceInfo } from '../resources/contract.ts';
import { apiVersionOf } from '../resources/facts.ts';
import type { GroupVersionKind } from './names.ts';
import {
  COLLECTION_PARAMETERS,
  DELETE_PARAMETERS,
  LIST_PARAMETERS,
  LOG_PARAMETERS,
  PATCH_PARAMETERS,
  WRITE_PARAMETERS,
} from './parameters.ts';

export type Method = 'get' | 'put' | 'post' | 'delete' | 'patch' | 'options' | 'head';

/** Names of definitions that operations of all resources share. */
export interface SharedNames {
  readonly status: string;
  readonly deleteOptions: string;
  readonly patch: string;
}

export interface Operation {
  readonly method: Method;
  readonly id: string;
  readonly tag: string;
  readonly description: string;
  /** `x-…-action`: list, get, post, put, patch, delete, deletecollection, connect. */
  readonly action: string;
  readonly kind: GroupVersionKind;
  readonly parameters: readonly string[];
  /** Definition of the body; patches are of several types. */
  readonly body?: string;
  /** Definition of the response body; absent for plain text. */
  readonly response?: string;
  readonly codes: readonly number[];
  /** Whether the resource is custom: without protobuf and strategic merge patches. */
  readonly custom: boolean;
}

export interface PathItem {
  readonly path: string;
  /** In the path itself. */
  readonly parameters: readonly string[];
  readonly operations: readonly Operation[];
}

export interface OperationNames {
  readonly shared: SharedNames;
  readonly object: string;
  readonly list: string;
  /** Returns the definition of a subresource's object. */
  readonly sub: (sub: SubresourceInfo) => string | undefined;
}

const capital = (word: string): string => word.charAt(0).toUpperCase() + word.slice(1);

/** `CoreV1`, `RbacAuthorizationV1`, `ComExampleV1`. */
function groupWords({ group, version }: ResourceInfo, { apiGroupDomain }: Vocabulary): readonly string[] {
  if (group === '') return ['core', version];
  const suffix = `.${apiGroupDomain}`;
  if (group.endsWith(suffix)) return [...group.slice(0, -suffix.length).split('.'), version];
  return [...group.split('.').toReversed(), version];
}

const OK = [200];
const CREATED = [200, 201];
const ACCEPTED = [200, 202];

type Draft = Omit<Operation, 'id' | 'tag' | 'kind' | 'custom'> & { readonly verb: string };

/** Operations on all objects of a namespace, or of the cluster. */
function collectionOperations({ kind, verbs }: ResourceInfo, names: OperationNames): readonly Draft[] {
  const { object, list, shared } = names;
  const all: readonly (Draft & { readonly needs: string })[] = [
    {
      needs: 'list',
      verb: 'list',
      method: 'get',
      action: 'list',
      description: `Lists or watches objects of kind ${kind}.`,
      parameters: LIST_PARAMETERS,
      response: list,
      codes: OK,
    },
    {
      needs: 'create',
      verb: 'create',
      method: 'post',
      action: 'post',
      description: `Creates a ${kind}.`,
      parameters: WRITE_PARAMETERS,
      body: object,
      response: object,
      codes: [...CREATED, 202],
    },
    {
      needs: 'deletecollection',
      verb: 'deleteCollection',
      method: 'delete',
      action: 'deletecollection',
      description: `Deletes the objects of kind ${kind} that are selected.`,
      parameters: COLLECTION_PARAMETERS,
      body: shared.deleteOptions,
      response: shared.status,
      codes: OK,
    },
  ];
  return all.filter(({ needs }) => verbs.includes(needs));
}

/** Operations on an object, or on a part of it. */
function objectOperations(
  of: { readonly verbs: readonly string[]; readonly kind: string; readonly what: string },
  object: string,
  deleted: string,
  shared: SharedNames,
): readonly Draft[] {
  const { verbs, what } = of;
  const common = { body: object, response: object };
  const all: readonly (Draft & { readonly needs: string })[] = [
    {
      needs: 'get',
      verb: 'read',
      method: 'get',
      action: 'get',
      description: `Reads ${what}.`,
      parameters: [],
      response: object,
      codes: OK,
    },
    {
      needs: 'update',
      verb: 'replace',
      method: 'put',
      action: 'put',
      description: `Replaces ${what}.`,
      parameters: WRITE_PARAMETERS,
      ...common,
      codes: CREATED,
    },
    {
      needs: 'patch',
      verb: 'patch',
      method: 'patch',
      action: 'patch',
      description: `Changes some of ${what}.`,
      parameters: PATCH_PARAMETERS,
      body: shared.patch,
      response: object,
      codes: CREATED,
    },
    {
      needs: 'create',
      verb: 'create',
      method: 'post',
      action: 'post',
      description: `Creates ${what}.`,
      parameters: WRITE_PARAMETERS,
      ...common,
      codes: [...CREATED, 202],
    },
    {
      needs: 'delete',
      verb: 'delete',
      method: 'delete',
      action: 'delete',
      description: `Deletes ${what}.`,
      parameters: DELETE_PARAMETERS,
      body: shared.deleteOptions,
      response: deleted,
      codes: ACCEPTED,
    },
  ];
  return all.filter(({ needs }) => verbs.includes(needs));
}

const METHODS: readonly Method[] = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch'];

/** A pass-through point. */
function connectOperations({ name, httpMethods = [] }: SubresourceInfo, kind: string): readonly Draft[] {
  return METHODS.filter((method) => httpMethods.includes(method.toUpperCase())).map((method) => ({
    verb: `connect${capital(method)}`,
    method,
    action: 'connect',
    description: `Connects to ${name} of the ${kind}.`,
    parameters: [],
    codes: OK,
  }));
}

/** Completes operations with the properties that all operations of a resource share. */
interface Finish {
  (drafts: readonly Draft[], kind: GroupVersionKind, suffix: string): readonly Operation[];
}

function finisher(resource: Resource, vocabulary: Vocabulary): Finish {
  const { info, schema } = resource;
  const custom = schema.typeRef === undefined;
  const words = groupWords(info, vocabulary);
  const group = words
    .map(capital)
    .join('')
    .replaceAll(/[^A-Za-z0-9]/g, '');
  const scope = info.namespaced ? 'Namespaced' : '';
  return (drafts, kind, suffix) =>
    drafts.map(({ verb, ...draft }) => {
      // `deleteCollection` and `connectGet` have the group in their middle.
      const [, first = verb, second = ''] = /^([a-z]+)([A-Z].*)$/.exec(verb) ?? [];
      const subject = suffix === 'ForAllNamespaces' ? '' : scope;
      return {
        ...draft,
        id: `${first}${group}${second}${subject}${info.kind}${suffix}`,
        tag: words.join('_'),
        kind,
        custom,
      };
    });
}

/** Returns every base path of a resource. */
export function resourcePaths(
  resource: Resource,
  names: OperationNames,
  vocabulary: Vocabulary,
): readonly PathItem[] {
  const { info } = resource;
  const { group, version, kind, plural, namespaced } = info;
  const root = `${group === '' ? '/api' : '/apis'}/${apiVersionOf(info)}`;
  const scope = namespaced ? ['namespace'] : [];
  const collection = namespaced ? `${root}/namespaces/{namespace}/${plural}` : `${root}/${plural}`;
  const gvk = { group, version, kind };
  const finish = finisher(resource, vocabulary);
  const deleted = info.deleteReturns === 'object' ? names.object : names.shared.status;
  const inCollection = collectionOperations(info, names);
  // A resource without `get` is an operation without named objects.
  const verbs = info.verbs.filter((verb) => verb !== 'create');
  const one = objectOperations(
    { verbs, kind, what: `the ${kind} of this name` },
    names.object,
    deleted,
    names.shared,
  );
  const everywhere = namespaced ? inCollection.filter(({ action }) => action === 'list') : [];
  const items: readonly PathItem[] = [
    { path: collection, parameters: scope, operations: finish(inCollection, gvk, '') },
    { path: `${collection}/{name}`, parameters: [...scope, 'name'], operations: finish(one, gvk, '') },
    { path: `${root}/${plural}`, parameters: [], operations: finish(everywhere, gvk, 'ForAllNamespaces') },
    ...[...info.subresources.values()].flatMap((sub) =>
      subresourcePaths(resource, sub, `${collection}/{name}/${sub.name}`, names, finish),
    ),
  ];
  return items.filter(({ operations }) => operations.length > 0);
}

function subresourcePaths(
  { info }: Resource,
  sub: SubresourceInfo,
  path: string,
  names: OperationNames,
  finish: Finish,
): readonly PathItem[] {
  const { group, version, namespaced } = info;
  const gvk = { group: sub.group ?? group, version: sub.version ?? version, kind: sub.kind };
  const parameters = [...(namespaced ? ['namespace'] : []), 'name'];
  const suffix = capital(sub.name);
  if (sub.connect === true) {
    const item = { path, parameters, operations: finish(connectOperations(sub, info.kind), gvk, suffix) };
    if (sub.name !== 'proxy') return [item];
    const below = finish(connectOperations(sub, info.kind), gvk, `${suffix}WithPath`);
    return [item, { path: `${path}/{path}`, parameters: [...parameters, 'path'], operations: below }];
  }
  const what = `${sub.name} of the ${info.kind} of this name`;
  const shown = names.sub(sub);
  const drafts = objectOperations({ ...sub, what }, shown ?? names.object, names.shared.status, names.shared);
  if (sub.name !== 'log') return [{ path, parameters, operations: finish(drafts, gvk, suffix) }];
  // The log itself is text.
  const log = drafts.map(({ verb, method, action, description, codes }) => ({
    verb,
    method,
    action,
    description,
    codes,
    parameters: LOG_PARAMETERS,
  }));
  return [{ path, parameters, operations: finish(log, gvk, suffix) }];
}
