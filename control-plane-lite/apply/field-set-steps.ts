/** Operations on large sets of fields, in short steps: the results are those of `field-set.ts`. Pure. */
import type { Steps } from '#api/kit/steps.ts';
import {
  EMPTY_SET,
  type FieldSet,
  intersectNode,
  intersects,
  isEmptySet,
  LEAF,
  Remaining,
  subtractNode,
} from './field-set.ts';

/** Members that one step looks at. */
const STEP_MEMBERS = 2000;

/** Members that the current step may still look at, in all nodes. */
interface StepBudget {
  left: number;
}

/** Counts one member. Returns true if the step has to end before it. */
function takeMember(budget: StepBudget): boolean {
  budget.left -= 1;
  if (budget.left >= 0) return false;
  budget.left = STEP_MEMBERS;
  return true;
}

export function* intersectionSteps(a: FieldSet, b: FieldSet): Steps<FieldSet> {
  if (a === b) return a;
  return (yield* intersectNodesSteps(a, b, { left: STEP_MEMBERS })) ?? EMPTY_SET;
}

function* intersectNodesSteps(a: FieldSet, b: FieldSet, budget: StepBudget): Steps<FieldSet | undefined> {
  const result = new Remaining();
  for (const element in a) {
    if (takeMember(budget)) yield;
    const mine = a[element] ?? LEAF;
    const theirs = b[element];
    if (theirs === undefined) continue;
    if (element === '.') result.keep(element, LEAF);
    else if (isEmptySet(mine) || isEmptySet(theirs)) result.keep(element, intersectNode(mine, theirs));
    else result.keep(element, yield* intersectNodesSteps(mine, theirs, budget));
  }
  return result.settle();
}

/** The first step is one look at both sets. */
export function* differenceSteps(a: FieldSet, b: FieldSet): Steps<FieldSet> {
  if (!intersects(a, b)) return a;
  yield;
  return (yield* subtractNodesSteps(a, b, { left: STEP_MEMBERS })) ?? EMPTY_SET;
}

function* subtractNodesSteps(a: FieldSet, b: FieldSet, budget: StepBudget): Steps<FieldSet | undefined> {
  const result = new Remaining();
  for (const element in a) {
    if (takeMember(budget)) yield;
    const mine = a[element] ?? LEAF;
    const theirs = b[element];
    if (theirs === undefined) result.keep(element, mine);
    else if (element === '.') continue;
    else if (isEmptySet(mine) || isEmptySet(theirs)) result.keep(element, subtractNode(mine, theirs));
    else result.keep(element, yield* subtractNodesSteps(mine, theirs, budget));
  }
  return result.settle();
}
