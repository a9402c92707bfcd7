import CRDTCore

/// What becomes the `_id` of a document.
enum IDRule: Sendable, Equatable {
  /// Its own `_id`, or a new one.
  case own
  /// The value of a field.
  case field(ColumnName)
  /// A text with the values of fields in it.
  case template(IDTemplate)

  /// The id that the rule gives a document; `nil` where that keeps what it has.
  ///
  /// - Throws: A `ToolError` where a field has no value, or one that is no id.
  func id(for fields: [TextKey: Value]) throws -> Value? {
    switch self {
    case .own: return nil
    case .field(let name):
      guard let value = Self.value(at: name, in: fields) else {
        throw ToolError("the field \(name.text), which is to be the _id, has no value")
      }
      return value
    case .template(let template): return .string(try template.text { Self.value(at: $0, in: fields) })
    }
  }

  private static func value(at name: ColumnName, in fields: [TextKey: Value]) -> Value? {
    var (found, fields) = (nil as Value?, fields)
    for step in name.path {
      found = fields[step]
      if case .map(let inner)? = found { fields = inner } else { fields = [:] }
    }
    return found == .null ? nil : found
  }
}

/// A text with places for the values of fields: `{origin}-{flight}`; `{{` and `}}` are braces.
struct IDTemplate: Sendable, Equatable {
  private enum Part: Equatable {
    case text(String)
    case field(ColumnName)
  }

  /// The template as it was given.
  let source: String
  private var parts: [Part] = []

  /// Reads a template.
  ///
  /// - Throws: A `ToolError` for a brace without its other, an empty name, and a template without any field.
  init(_ template: String) throws {
    source = template
    var (text, name): (String, String?) = ("", nil)
    var rest = template[...]
    while let character = rest.popFirst() {
      switch (character, name) {
      case ("{", nil) where rest.first == "{", ("}", nil) where rest.first == "}":
        rest.removeFirst()
        text.append(character)
      case ("{", nil):
        if !text.isEmpty { parts.append(.text(text)) }
        (text, name) = ("", "")
      case ("}", let field?):
        guard !field.isEmpty else { throw ToolError("{} in the template names no field") }
        parts.append(.field(ColumnName(field)))
        name = nil
      case ("}", nil), ("{", _): throw ToolError("the template has \(character) without its other brace")
      case (_, let field?): name = field + String(character)
      case (_, nil): text.append(character)
      }
    }
    guard name == nil else { throw ToolError("the template has { without its other brace") }
    if !text.isEmpty { parts.append(.text(text)) }
    guard parts.contains(where: { if case .field = $0 { true } else { false } }) else {
      throw ToolError("the template names no field, so that all documents would have one _id")
    }
  }

  /// The text with values put in.
  ///
  /// - Throws: A `ToolError` where a field has no value, or one that has no plain text.
  func text(_ value: (ColumnName) -> Value?) throws -> String {
    try parts.map { part in
      switch part {
      case .text(let text): return text
      case .field(let name):
        switch value(name) {
        case .string(let text)?: return text
        case .int(let number)?, .counter(let number)?: return "\(number)"
        case .bool(let flag)?: return "\(flag)"
        case .double(let number)?: return "\(number)"
        case nil, .null?: throw ToolError("the field \(name.text) of the template has no value")
        case .array?, .map?, .bytes?, .attachment?, .decimal?:
          throw ToolError("the field \(name.text) of the template is neither text nor a number")
        }
      }
    }.joined()
  }
}
