/** JSON texts in the forms that people read. */
import { parseJsonText } from '#api/codec/json-text.ts';
import { formatYaml } from '#api/codec/yaml.ts';
import type { TextForm } from './yaml-reader.ts';

export const prettyJson = (value: unknown): string => JSON.stringify(value, null, 2);

/** The value in the form, without a line end where JSON has none. */
export const formValue = (value: unknown, form: TextForm): string =>
  form === 'yaml' ? formatYaml(value) : prettyJson(value);

export const formText = (json: string, form: TextForm): string => formValue(parseJsonText(json), form);

/** Lines but the first, and but empty ones, moved to the right. */
export const indented = (text: string, indent: string): string =>
  indent === '' ? text : text.replaceAll(/\n(?=[^\n])/g, `\n${indent}`);
