#if Server
  /// Where each setting was said, for what is judged once all are known: a line of a file, a flag or a variable.
  ///
  /// Settings are named by their paths, such as `applications[0].devices.listen[1]`.
  struct SettingPlaces: Sendable {
    private struct Place: Sendable {
      let text: String
      /// Whether the place is named as the setting is.
      let isFlag: Bool
    }

    private var places: [String: Place] = [:]

    /// A setting stands on a line of a file; the path of the whole file is empty.
    mutating func record(_ path: String, file: String, line: Int) {
      places[path] = Place(text: "\(file):\(line)", isFlag: false)
    }

    /// A flag or a variable says a setting, in the place of the file.
    mutating func record(_ path: String, flag: String) { places[path] = Place(text: flag, isFlag: true) }

    /// Whether somebody has said the setting, or what it is a part of.
    func isSaid(_ path: String) -> Bool { place(of: path).map { !$0.path.isEmpty } ?? false }

    /// A mistake in a setting.
    ///
    /// - Parameters:
    ///   - path: The setting.
    ///   - message: One sentence without a full stop.
    /// - Returns: The error, with the place of the setting, or of the nearest thing around it that was said.
    func fault(_ path: String, _ message: String) -> ConfigurationError {
      guard let (_, place) = place(of: path) else { return ConfigurationError(path, message) }
      return ConfigurationError(place.text, place.isFlag ? message : "\(path): \(message)")
    }

    private func place(of path: String) -> (path: String, place: Place)? {
      var path = path[...]
      while !path.isEmpty {
        if let place = places[String(path)] { return (String(path), place) }
        path = path.lastIndex { $0 == "." || $0 == "[" }.map { path[..<$0] } ?? ""
      }
      return places[""].map { ("", $0) }
    }
  }
#endif
