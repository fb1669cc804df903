/** A member with the id of a plant. A JSON string has no such text, because its quotation marks are escaped. */
const ID = /"(id|next|first|last)":(-?\d+)/g

/** The same JSON, as the service writes it, with the ids of plants as texts: `"id":1` becomes `"id":"1"`. */
export const withTextIds = (json: string): string => json.replaceAll(ID, '"$1":"$2"')
