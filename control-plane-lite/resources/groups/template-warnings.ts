/** Warnings for the pod templates of workloads. */
import { isDeepStrictEqual } from 'node:util';
import type { PodTemplateSpec } from '#api/gen/core-v1.ts';
import type { Vocabulary } from '#api/vocabulary.ts';
import type { KindEntry } from '../contract.ts';
import { podTemplateWarnings } from '../core/pod-warnings.ts';
import { typed } from '../view.ts';

interface HasTemplate {
  readonly spec?: {
    readonly template?: PodTemplateSpec;
    readonly jobTemplate?: { readonly spec?: { readonly template?: PodTemplateSpec } };
  };
}

const templateOf = ({ spec }: HasTemplate): readonly [path: string, template: PodTemplateSpec | undefined] =>
  spec?.jobTemplate === undefined
    ? ['spec.template', spec?.template]
    : ['spec.jobTemplate.spec.template', spec.jobTemplate.spec?.template];

/** Adds warnings about a new or changed template to the kind. */
export function withTemplateWarnings(entry: KindEntry, vocabulary: Vocabulary): KindEntry {
  const { strategy } = entry;
  return {
    ...entry,
    strategy: {
      ...strategy,
      warnings: (object, old) => {
        const own = strategy.warnings?.(object, old) ?? [];
        const [path, template] = templateOf(typed<HasTemplate>(object));
        const before = old === undefined ? undefined : templateOf(typed<HasTemplate>(old))[1];
        if (isDeepStrictEqual(template, before)) return own;
        return [...own, ...podTemplateWarnings(template, path, vocabulary)];
      },
    },
  };
}
