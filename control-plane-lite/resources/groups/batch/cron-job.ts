/** CronJobs. Source: batch/v1. */

import type { CronJob, CronJobSpec } from '#api/gen/batch-v1.ts';
import { CronError, isTimeZone, parseCron } from '#api/meta/cron.ts';
import { dns1123SubdomainErrors } from '#api/meta/names.ts';
import type { FieldErrors } from '#api/schema/validation/field-errors.ts';
import type { KindEntry, StrategyContext } from '../../contract.ts';
import { ageOf, containerCells, formatSelectorCell, formatSince, NONE } from '../../rows.ts';
import { kindStrategy, statusPart } from '../kind.ts';
import { validateJobContent } from './job-spec.ts';

/** Its jobs have 11 more characters in their names, which must fit a label. */
const LONGEST_NAME = 52;

function nameErrors(name: string): readonly string[] {
  const tooLong = name.length > LONGEST_NAME ? [`must be no more than ${LONGEST_NAME} characters`] : [];
  return [...dns1123SubdomainErrors(name), ...tooLong];
}

function validateSchedule(errors: FieldErrors, { schedule, timeZone }: CronJobSpec): void {
  if (schedule === '') return errors.required('spec.schedule');
  try {
    parseCron(schedule);
  } catch (error) {
    if (!(error instanceof CronError)) throw error;
    errors.invalid('spec.schedule', schedule, error.message);
  }
  if (timeZone === undefined) return undefined;
  if (!isTimeZone(timeZone)) errors.invalid('spec.timeZone', timeZone, 'must be the name of a time zone');
  if (schedule.includes('TZ')) {
    errors.invalid('spec.schedule', schedule, 'cannot use both timeZone field and TZ or CRON_TZ in schedule');
  }
  return undefined;
}

function validateTemplate(errors: FieldErrors, { jobTemplate }: CronJobSpec, context: StrategyContext): void {
  const path = 'spec.jobTemplate.spec';
  const { spec } = jobTemplate;
  if (spec === undefined) return errors.required(path);
  validateJobContent(errors, spec, path, context);
  if (spec.selector !== undefined) {
    errors.invalid(`${path}.selector`, spec.selector, '`selector` will be auto-generated');
  }
  if (spec.manualSelector === true) errors.unsupported(`${path}.manualSelector`, true, ['nil', 'false']);
  return undefined;
}

export const cronJob: KindEntry = {
  strategy: kindStrategy<CronJob>({
    nameErrors,
    validate(errors, { spec }, context) {
      if (spec === undefined) return errors.required('spec');
      validateSchedule(errors, spec);
      errors.nonNegative('spec.startingDeadlineSeconds', spec.startingDeadlineSeconds);
      if (spec.concurrencyPolicy === undefined) errors.required('spec.concurrencyPolicy');
      validateTemplate(errors, spec, context);
      errors.nonNegative('spec.successfulJobsHistoryLimit', spec.successfulJobsHistoryLimit);
      errors.nonNegative('spec.failedJobsHistoryLimit', spec.failedJobsHistoryLimit);
      return undefined;
    },
    warnings: ({ spec }) =>
      spec?.timeZone === undefined && (spec?.schedule ?? '').includes('TZ')
        ? ['CRON_TZ or TZ used in spec.schedule is not officially supported, see spec.timeZone']
        : [],
    row: (object, { nowMs }) => {
      const { spec, status, metadata } = object;
      const jobSpec = spec?.jobTemplate.spec;
      return [
        metadata?.name ?? '',
        spec?.schedule ?? '',
        spec?.suspend === true ? 'True' : 'False',
        status?.active?.length ?? 0,
        status?.lastScheduleTime === undefined ? NONE : formatSince(status.lastScheduleTime, nowMs),
        ageOf(object, nowMs),
        ...containerCells(jobSpec?.template.spec),
        formatSelectorCell(jobSpec?.selector),
      ];
    },
  }),
  parts: { status: statusPart<CronJob>() },
};
