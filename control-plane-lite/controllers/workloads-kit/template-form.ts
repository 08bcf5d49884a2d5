/** Canonical forms of pod templates for comparison and output: clients that write zero values and clients
 *  that omit them mean the same template. Pure. */
import { isDeepStrictEqual } from 'node:util';
import { sortedMembers } from '#api/codec/embedded-text.ts';
import type { PodTemplateSpec } from '#api/gen/core-v1.ts';
import { isMutableObject } from '#api/kit/object.ts';
import { completed } from '#api/schema/complete.ts';
import { printedForm } from '#api/schema/printed.ts';
import { VOCABULARIES } from '#api/vocabulary.ts';

const TYPE = 'core/v1.PodTemplateSpec';
/** The members of templates have the same names in all vocabularies. */
const NAMES = VOCABULARIES.plat;

/** The stored form; the same reference if it has this form. */
export const canonicalTemplate = (template: PodTemplateSpec): PodTemplateSpec =>
  completed(TYPE, template, NAMES);

export const sameTemplate = (left: PodTemplateSpec, right: PodTemplateSpec): boolean =>
  isDeepStrictEqual(left, right) || isDeepStrictEqual(canonicalTemplate(left), canonicalTemplate(right));

/** Data of a ControllerRevision: a patch that restores its template, in upstream's order and with the zero
 *  values that upstream's types print. Clients compare its text, `embeddedText`, with one that they build
 *  themselves. */
export function revisionData(template: PodTemplateSpec): object {
  const printed = printedForm(TYPE, canonicalTemplate(template), NAMES);
  const members = isMutableObject(printed) ? printed : {};
  const data = sortedMembers({ spec: { template: { ...members, $patch: 'replace' } } });
  return isMutableObject(data) ? data : {};
}

/** The template that such a patch restores; `undefined` for other data. */
export function templateOfData(data: unknown): PodTemplateSpec | undefined {
  const spec = isMutableObject(data) ? data['spec'] : undefined;
  const held = isMutableObject(spec) ? spec['template'] : undefined;
  if (!isMutableObject(held)) return undefined;
  const { $patch: _, ...template } = held;
  return canonicalTemplate(template);
}

/** Reports whether a ControllerRevision holds the template: older releases and other implementations print it
 *  differently. */
export function holdsTemplate(data: unknown, template: PodTemplateSpec): boolean {
  const held = templateOfData(data);
  return held !== undefined && sameTemplate(held, template);
}
