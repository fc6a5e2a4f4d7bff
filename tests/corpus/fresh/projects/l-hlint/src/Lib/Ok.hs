module Lib.Ok where
