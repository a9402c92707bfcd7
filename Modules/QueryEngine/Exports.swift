// Statements, expressions and errors are part of the engine's interface.
@_exported public import QueryLanguage
