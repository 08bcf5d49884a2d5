/** What a node may tell of a claim: how large its file system has become. */
import { isDeepStrictEqual } from 'node:util';
import type { PersistentVolumeClaim } from '#api/schema/gen/core-v1.ts';
import type { ApiObject } from '../../resources/contract.ts';
import { typed } from '../../resources/view.ts';
import type { AdmissionRequest } from '../contract.ts';
import { refusal } from '../refusal.ts';

/** The claim without what a node may change. */
function fixedPart(object: ApiObject): unknown {
  const { resourceVersion: _version, managedFields: _managed, ...metadata } = object.metadata;
  const {
    capacity: _capacity,
    conditions: _conditions,
    ...status
  } = typed<PersistentVolumeClaim>(object).status ?? {};
  return { ...object, metadata, status };
}

/** @throws StatusError Forbidden */
export function checkClaimStatus(request: AdmissionRequest, node: string): void {
  const { object, old } = request;
  if (object === undefined || old === undefined) return;
  if (isDeepStrictEqual(fixedPart(object), fixedPart(old))) return;
  throw refusal(
    request,
    `node ${JSON.stringify(node)} is not allowed to update fields other than status.capacity and status.conditions`,
  );
}
