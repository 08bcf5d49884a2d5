import { describe, expect, test } from 'vitest';
import type { ApiObject } from '../resources/contract.ts';
import { applyScale } from '../resources/scale.ts';
import { replicasPathOf } from './scale-apply.ts';

describe('replicasPathOf', () => {
  test('of the built-in kinds', () => {
    expect(replicasPathOf({ apply: applyScale })).toEqual(['f:spec', 'f:replicas']);
  });

  test('of a kind that has them elsewhere', () => {
    const apply = (draft: ApiObject): void => {
      draft['template'] = { pods: { wanted: 1 } };
    };
    expect(replicasPathOf({ apply })).toEqual(['f:template', 'f:pods', 'f:wanted']);
  });
});
