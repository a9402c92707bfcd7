package import CRDTCore

extension ControlProtocol {
  /// A message as a line, which keeps the type of every value.
  package static func line(_ message: [TextKey: Value]) -> [UInt8] {
    var line: [UInt8] = []
    JSON.write(.map(message), to: &line, options: .init(isLossless: true))
    line.append(0x0A)
    return line
  }

  /// The message of a line.
  ///
  /// - Throws: `syntax` when it is no JSON object.
  package static func message(_ line: [UInt8]) throws(ControlError) -> [TextKey: Value] {
    do {
      guard case .map(let message) = try JSON.parse(line, options: .init(interpretsTags: true)) else {
        throw ControlError(.syntax, "a line must be a JSON object")
      }
      return message
    } catch let error as ControlError {
      throw error
    } catch {
      throw ControlError(.syntax, "a line is no JSON object: \(error)")
    }
  }
}
