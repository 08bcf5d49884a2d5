/** The types of writes reject combinations that no verb supports. */
import { expectTypeOf, test } from 'vitest';
import type { ApiObject } from '../resources/contract.ts';
import type { AdmissionView, Caller, CreateWrite, ObjectRef, PureChange, UpdateWrite } from './contract.ts';

interface Base {
  readonly ref: ObjectRef;
  readonly caller: Caller;
  readonly dryRun: boolean;
  readonly fieldManager: string;
}

interface Changed extends Base {
  readonly change: (live: ApiObject) => ApiObject;
}

interface Created extends Base {
  readonly change: (live: ApiObject | undefined) => ApiObject;
  readonly allowCreate: true;
}

interface Pure extends Base {
  readonly change: PureChange;
}

test('an update names its object, its change and its caller', () => {
  expectTypeOf<Changed>().toExtend<UpdateWrite>();
  expectTypeOf<Pure>().toExtend<UpdateWrite>();
  expectTypeOf<Base>().not.toExtend<UpdateWrite>();
  expectTypeOf<Omit<Changed, 'caller'>>().not.toExtend<UpdateWrite>();
  expectTypeOf<Base>().not.toExtend<CreateWrite>();
});

test('an update that may create accepts the absent object, and neither a subresource nor a pure change', () => {
  expectTypeOf<Created>().toExtend<UpdateWrite>();
  expectTypeOf<Changed & { readonly allowCreate: true }>().not.toExtend<UpdateWrite>();
  expectTypeOf<Created & { readonly subresource: string }>().not.toExtend<UpdateWrite>();
  expectTypeOf<Pure & { readonly allowCreate: true }>().not.toExtend<UpdateWrite>();
});

test('an apply cannot be a pure change, and an admitted write has no view', () => {
  expectTypeOf<Pure & { readonly manage: 'apply' }>().not.toExtend<UpdateWrite>();
  expectTypeOf<Changed & { readonly view: AdmissionView }>().toExtend<UpdateWrite>();
  expectTypeOf<
    Changed & { readonly admitted: true; readonly view: AdmissionView }
  >().not.toExtend<UpdateWrite>();
});
