/** Extracts the first document with content from a YAML text. */
import { type YamlDocument, yamlSteps } from '#api/codec/yaml.ts';

/** Yields `undefined` between steps, and finally the document, if there is one.
 *  @throws TextSyntaxError */
export function* firstDocument(text: string): Generator<YamlDocument | undefined, void> {
  for (const step of yamlSteps(text)) {
    if (step?.empty === true) continue;
    yield step;
    if (step !== undefined) return;
  }
}
