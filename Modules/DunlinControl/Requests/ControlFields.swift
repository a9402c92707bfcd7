package import CRDTCore

/// Reads the fields of a request by their types; a field that is null counts as missing.
typealias ControlFields = JSONMembers<ControlError>

extension ControlError: JSONMemberError {
  package init(_ mistake: JSONMistake) {
    let sentence =
      switch mistake.reason {
      case .missing: "\(mistake.source) needs the text \"\(mistake.name.text)\""
      case .kind(let kind), .bounds(let kind):
        "\(mistake.source): \"\(mistake.name.text)\" must be \(Self.description(of: kind))"
      case .noObject, .unread, .words: "\(mistake.source): \"\(mistake.path)\" \(mistake.sentence)"
      }
    self.init(.argument, sentence)
  }

  private static func description(of kind: JSONMistake.Kind) -> String {
    switch kind {
    case .text: "a text"
    case .integer(let range): range.lowerBound == 0 ? "an integer from 0" : "an integer"
    case .flag: "true or false"
    case .list: "a JSON array"
    case .object: "a JSON object"
    }
  }
}
