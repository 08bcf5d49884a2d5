/** Templates of pods in the forms in which they are compared and printed: clients that write zero
 *  values and clients that leave them out mean the same template. Pure. */
import { isDeepStrictEqual } from 'node:util';
import { sortedMembers } from '#api/codec/embedded-text.ts';
import { completed } from '#api/schema/complete.ts';
import type { PodTemplateSpec } from '#api/schema/gen/core-v1.ts';
import { printedForm } from '#api/schema/printed.ts';
import { VOCABULARIES } from '#api/vocabulary.ts';
import { isMembers } from '../../resources/view.ts';

const TYPE = 'core/v1.PodTemplateSpec';
/** The members of templates have the same names in all vocabularies. */
const WORDS = VOCABULARIES.plat;

/** As it is stored; itself if it has this form. */
export const canonicalTemplate = (template: PodTemplateSpec): PodTemplateSpec =>
  completed(TYPE, template, WORDS);

export const sameTemplate = (left: PodTemplateSpec, right: PodTemplateSpec): boolean =>
  isDeepStrictEqual(left, right) || isDeepStrictEqual(canonicalTemplate(left), canonicalTemplate(right));

/** What a ControllerRevision holds: a patch that brings its template back, in upstream's order and with the zero
 *  values that upstream's types print. Clients compare its text, `embeddedText`, with one that they make themselves. */
export function revisionData(template: PodTemplateSpec): object {
  const printed = printedForm(TYPE, canonicalTemplate(template), WORDS);
  const members = isMembers(printed) ? printed : {};
  const data = sortedMembers({ spec: { template: { ...members, $patch: 'replace' } } });
  return isMembers(data) ? data : {};
}

/** The template that such a patch brings back; `undefined` if it is none. */
export function templateOfData(data: unknown): PodTemplateSpec | undefined {
  const spec = isMembers(data) ? data['spec'] : undefined;
  const held = isMembers(spec) ? spec['template'] : undefined;
  if (!isMembers(held)) return undefined;
  const { $patch: _, ...template } = held;
  return canonicalTemplate(template);
}

/** Whether a ControllerRevision holds the template: older releases, and others, print it otherwise. */
export function holdsTemplate(data: unknown, template: PodTemplateSpec): boolean {
  const held = templateOfData(data);
  return held !== undefined && sameTemplate(held, template);
}
