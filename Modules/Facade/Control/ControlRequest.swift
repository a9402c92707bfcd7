import CRDTCore

/// What a client asks for.
struct ControlRequest: Sendable {
  /// Names the request in its answers.
  let id: Int
  let action: String
  let fields: [TextKey: Value]

  /// A text that the action needs.
  ///
  /// - Throws: `argument` without one.
  func text(_ name: TextKey) throws(ControlError) -> String {
    guard let text = fields.string(name) else {
      throw ControlError(.argument, "\(action) needs the text \"\(name.text)\"")
    }
    return text
  }
}

/// A line of a client.
enum ControlLine {
  case request(ControlRequest)
  /// More of a request whose documents come in several lines.
  case documents(id: Int, [Value], isLast: Bool)
  case cancel(id: Int)

  init(_ message: [TextKey: Value]) throws(ControlError) {
    if let id = message.integer("cancel") {
      self = .cancel(id: id)
      return
    }
    guard let id = message.integer("id") else {
      throw ControlError(
        .argument, "a request needs an integer \"id\", or \"cancel\" with that of another one")
    }
    if let action = message.string("do") {
      self = .request(ControlRequest(id: id, action: action, fields: message))
    } else if let documents = message.elements("documents") {
      self = .documents(id: id, documents, isLast: !(message.boolean("more") ?? false))
    } else {
      throw ControlError(.argument, "a request needs a text \"do\"")
    }
  }
}
