/** Fields of a claim's status that a node may update: the capacity of the file system and, behind a gate, the
 *  progress of its expansion. */
import { isDeepStrictEqual } from 'node:util';
import type { PersistentVolumeClaim } from '#api/gen/core-v1.ts';
import type { ApiObject } from '../../resources/contract.ts';
import { typed } from '../../resources/view.ts';
import type { AdmissionRequest } from '../contract.ts';
import { refusal } from '../refusal.ts';

/** Returns the claim without the fields that a node may change. */
function fixedPart(object: ApiObject, withProgress: boolean): unknown {
  const { resourceVersion: _version, managedFields: _managed, ...metadata } = object.metadata;
  const {
    capacity: _capacity,
    conditions: _conditions,
    ...rest
  } = typed<PersistentVolumeClaim>(object).status ?? {};
  if (!withProgress) return { ...object, metadata, status: rest };
  const { resizeStatus: _progress, allocatedResources: _allocated, ...status } = rest;
  return { ...object, metadata, status };
}

/** Reports whether only fields changed that a node may update.
 *  @param withProgress whether the feature RecoverVolumeExpansionFailure is enabled */
export function isGrowthAlone(object: ApiObject, old: ApiObject, withProgress: boolean): boolean {
  return isDeepStrictEqual(fixedPart(object, withProgress), fixedPart(old, withProgress));
}

/** @throws StatusError Forbidden */
export function checkClaimStatus(request: AdmissionRequest, node: string, withProgress: boolean): void {
  const { object, old } = request;
  if (object === undefined || old === undefined) return;
  if (isGrowthAlone(object, old, withProgress)) return;
  throw refusal(
    request,
    `node ${JSON.stringify(node)} is not allowed to update fields other than status.capacity and status.conditions`,
  );
}
