/** Converts custom objects between versions: with strategy None only the version is renamed, otherwise the
 *  webhook converts. Fields unknown to the target version are pruned. Source: apiextensions/v1,
 *  CustomResourceConversion. */
import { finishInTurns, type Turns } from '#api/kit/steps.ts';
import type { ApiObject, Conversion } from '../../resources/contract.ts';
import type { CustomSchema } from '../schema/custom-schema.ts';

/** Converts objects to one version through a webhook, in their order. @throws StatusError */
export type ConvertElsewhere = (
  objects: readonly ApiObject[],
  apiVersion: string,
) => Promise<readonly ApiObject[]>;

export interface ConversionOptions {
  readonly group: string;
  /** The served version. */
  readonly version: string;
  /** The version that objects are stored in from now on. */
  readonly storage: string;
  /** Versions in which objects may lie in the store. */
  readonly storedVersions: readonly string[];
  /** Every version that objects may be in. */
  readonly schemas: ReadonlyMap<string, CustomSchema>;
  /** Schemas have changed since some of the objects were stored. */
  readonly outdated: boolean;
  /** Differs for every state of the definition. */
  readonly id: string;
  /** Absent: conversion changes nothing but the version. */
  readonly elsewhere?: ConvertElsewhere;
}

const versionOf = (object: ApiObject): string => object.apiVersion.slice(object.apiVersion.indexOf('/') + 1);

/** Returns the conversion of a version; `undefined` if its clients receive the stored bytes. */
export function customConversion(options: ConversionOptions): Conversion | undefined {
  const { group, version, storage, storedVersions, schemas, outdated, elsewhere } = options;
  const isMixed = version !== storage || storedVersions.some((stored) => stored !== version);
  if (!isMixed && !outdated) return undefined;
  const wire = `${group}/${version}`;

  /** As the schema of its stored version has it today. */
  const current = (object: ApiObject): ApiObject =>
    outdated ? (schemas.get(versionOf(object))?.adopt(object) ?? object) : object;
  const pruned = (object: ApiObject, to: string): ApiObject => schemas.get(to)?.prune(object) ?? object;
  const renamed = (object: ApiObject, to: string): ApiObject =>
    pruned({ ...object, apiVersion: `${group}/${to}` }, to);

  async function manyFromStorage(objects: readonly ApiObject[]): Promise<readonly ApiObject[]> {
    const ready = objects.map(current);
    const foreign = ready.filter((object) => versionOf(object) !== version);
    if (foreign.length === 0) return ready;
    const converted = elsewhere === undefined ? foreign : await elsewhere(foreign, wire);
    let next = 0;
    return ready.map((object) => {
      if (versionOf(object) === version) return object;
      const found = converted[next] ?? object;
      next += 1;
      return renamed(found, version);
    });
  }

  async function one(object: ApiObject, to: string, convert: ConvertElsewhere): Promise<ApiObject> {
    const [converted = object] = await convert([object], `${group}/${to}`);
    return pruned(converted, to);
  }

  /** Only what changes nothing but the version is cut: webhooks have their own turns. */
  async function inTurns(object: ApiObject, to: string, turns: Turns): Promise<ApiObject> {
    const before = outdated ? schemas.get(versionOf(object)) : undefined;
    const ready = before === undefined ? object : await finishInTurns(before.adoptSteps(object), turns);
    return versionOf(ready) === to ? ready : prunedInTurns(ready, to, turns);
  }

  async function prunedInTurns(object: ApiObject, to: string, turns: Turns): Promise<ApiObject> {
    const next = { ...object, apiVersion: `${group}/${to}` };
    const schema = schemas.get(to);
    return schema === undefined ? next : finishInTurns(schema.pruneSteps(next), turns);
  }

  return {
    id: `${options.id}/${version}`,
    fromStorage(object, turns) {
      if (turns !== undefined && elsewhere === undefined) return inTurns(object, version, turns);
      const ready = current(object);
      if (versionOf(ready) === version) return ready;
      return elsewhere === undefined ? renamed(ready, version) : one(ready, version, elsewhere);
    },
    toStorage(object, turns) {
      if (version === storage) return object;
      if (turns !== undefined && elsewhere === undefined) return prunedInTurns(object, storage, turns);
      return elsewhere === undefined ? renamed(object, storage) : one(object, storage, elsewhere);
    },
    ...(isMixed && elsewhere !== undefined ? { takesTime: true, manyFromStorage } : {}),
  };
}
