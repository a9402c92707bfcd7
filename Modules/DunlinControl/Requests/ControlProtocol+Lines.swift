public import CRDTCore

extension ControlProtocol {
  /// Encodes a message as a line, which preserves the type of every value.
  public static func line(_ message: [TextKey: Value]) -> [UInt8] {
    var line: [UInt8] = []
    JSON.write(.map(message), to: &line, options: .init(isLossless: true))
    line.append(0x0A)
    return line
  }

  /// Decodes the message of a line.
  ///
  /// - Throws: `syntax` when the line is not a JSON object.
  public static func message(_ line: [UInt8]) throws(ControlError) -> [TextKey: Value] {
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
