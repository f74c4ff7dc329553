package file

import (
	"encoding/json"

	"meridian/internal/experiment/protocol"
)

// Schema returns the JSON schema of the file, for editors (JSON Schema, draft 2020-12). It is made from the tables by which files
// are read. Values may be given by ${name}, so numbers may be text.
func Schema(standard []*protocol.Spec) ([]byte, error) {
	defs := make(map[string]any)
	for name, keys := range tables {
		defs[name] = object(keys)
	}
	var uses []any
	for _, s := range standard {
		uses = append(uses, s.Name)
	}
	if len(uses) > 0 {
		properties := defs["daemon"].(map[string]any)["properties"].(map[string]any)
		use := properties["use"].(map[string]any)
		use["examples"] = uses
	}
	root := object(tables["experiment"])
	root["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	root["title"] = "experiment of meridian run"
	root["$defs"] = defs
	delete(defs, "experiment")
	return json.MarshalIndent(root, "", "  ")
}

func object(keys []key) map[string]any {
	properties := make(map[string]any)
	var required []string
	for _, k := range keys {
		p := formSchema(k.form)
		p["description"] = k.doc
		properties[k.name] = p
		if k.required {
			required = append(required, k.name)
		}
	}
	o := map[string]any{"type": "object", "properties": properties, "additionalProperties": false}
	if required != nil {
		o["required"] = required
	}
	return o
}

type schema = map[string]any

func ref(table string) schema      { return schema{"$ref": "#/$defs/" + table} }
func listOf(item schema) schema    { return schema{"type": "array", "items": item, "minItems": 1} }
func either(all ...schema) schema  { return schema{"anyOf": all} }
func mappingOf(item schema) schema { return schema{"type": "object", "additionalProperties": item} }

// formSchema is what the schema says of a form of values.
func formSchema(form string) schema {
	text := func() schema { return schema{"type": []string{"string", "number", "boolean"}} }
	phase := either(schema{"type": "string"}, ref("phase"))
	switch form {
	case formNumber:
		return schema{"type": []string{"number", "string"}}
	case formFlag:
		return schema{"type": []string{"boolean", "string"}}
	case formTexts:
		return either(text(), listOf(text()))
	case formAny:
		return schema{"type": "object"}
	case formAxes:
		return mappingOf(listOf(text()))
	case formAddress:
		return schema{"type": "array", "items": text(), "minItems": 2, "maxItems": 2}
	case formHosts:
		return either(listOf(schema{"type": "string"}), mappingOf(either(ref("host"), schema{"type": "null"})))
	case formDaemons:
		return mappingOf(ref("daemon"))
	case formLinks:
		return listOf(ref("link"))
	case formChecks:
		return listOf(ref("check"))
	case "phases":
		return either(phase, listOf(phase))
	case formSchedule:
		return listOf(either(phase, listOf(phase), ref("block")))
	}
	return text()
}
