/** The first document of a YAML text that has content. */
import { type YamlDocument, yamlSteps } from '#api/codec/yaml.ts';

/** Yields `undefined` between steps, and the document at last, if there is one.
 *  @throws SyntaxFault */
export function* firstDocument(text: string): Generator<YamlDocument | undefined, void> {
  for (const step of yamlSteps(text)) {
    if (step?.empty === true) continue;
    yield step;
    if (step !== undefined) return;
  }
}
